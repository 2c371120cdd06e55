//go:build tools

// Package exporter names Percona's exporter of metrics, so that go.mod and go.sum pin it and what it is built of.
package exporter

import _ "github.com/percona/mongodb_exporter"
