//! Makes raft_ffi.h of the sources that declare the interface, where PALIMPSEST_RAFT_HEADER says.
use std::{env, path::PathBuf};

/// The files are named here, so that cbindgen asks cargo for nothing: a build needs no network.
const INTERFACE: [&str; 3] = ["src/types.rs", "src/logging.rs", "src/lib.rs"];

fn main() {
    println!("cargo:rerun-if-env-changed=PALIMPSEST_RAFT_HEADER");
    println!("cargo:rerun-if-changed=cbindgen.toml");
    let config = cbindgen::Config::from_file("cbindgen.toml").expect("cbindgen.toml is in order");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in INTERFACE {
        println!("cargo:rerun-if-changed={file}");
        builder = builder.with_src(file);
    }
    let header = env::var_os("PALIMPSEST_RAFT_HEADER")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(env::var_os("OUT_DIR").expect("cargo names it")).join("raft_ffi.h"));
    builder.generate().expect("the interface can be said in C").write_to_file(header);
}
