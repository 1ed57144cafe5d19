internal import Foundation

/// The seeds with which a random test runs besides those that it always has: none, unless the environment asks for more.
/// `CDGEN_RANDOM_ROUNDS=N` gives N seeds, and `CDGEN_RANDOM_SEED=S` begins them at S.
package var furtherSeeds: Range<UInt64> {
  let environment = ProcessInfo.processInfo.environment
  func number(_ name: String) -> UInt64? { environment[name].flatMap { UInt64($0) } }
  let first = number("CDGEN_RANDOM_SEED") ?? 1000
  return first..<first + (number("CDGEN_RANDOM_ROUNDS") ?? 0)
}
