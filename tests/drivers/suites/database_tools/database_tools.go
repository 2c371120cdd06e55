//go:build tools

// Package database_tools names MongoDB's Database Tools, so that go.mod and go.sum pin them and what they are built of.
package database_tools

import (
	_ "github.com/mongodb/mongo-tools/bsondump/main"
	_ "github.com/mongodb/mongo-tools/mongodump/main"
	_ "github.com/mongodb/mongo-tools/mongoexport/main"
	_ "github.com/mongodb/mongo-tools/mongofiles/main"
	_ "github.com/mongodb/mongo-tools/mongoimport/main"
	_ "github.com/mongodb/mongo-tools/mongorestore/main"
	_ "github.com/mongodb/mongo-tools/mongostat/main"
	_ "github.com/mongodb/mongo-tools/mongotop/main"
)
