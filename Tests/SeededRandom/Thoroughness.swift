internal import Foundation

/// Whether the tests try every case of a great number of like ones: each bit of a file, each operation of a migration that
/// can fail. `CDGEN_THOROUGH=1` asks for it, and `.ci/run --all` does so. Without it they try a part, which is the same in
/// each run.
package let isThorough = ProcessInfo.processInfo.environment["CDGEN_THOROUGH"] == "1"
