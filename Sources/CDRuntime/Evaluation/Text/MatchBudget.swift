#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The common limit for all regular expressions of a fetch, batch or save.
///
/// The limit of a single match does not limit a fetch of many rows. The budget counts the engine's steps and not
/// seconds, so that the same fetch has the same result on every machine. It grows with the length of the matched texts.
/// So a pattern that takes only a few steps for each character never exceeds it, whatever the number of rows.
///
/// The budget belongs to the thread of the fetch. SQL functions and the evaluator use the same budget.
final class MatchBudget {
  /// The number of the engine's reports that are always allowed. The engine reports every 10,000 steps.
  private static let freeReports = 2_000
  /// The number of UTF-16 units of text that allow one more report, which is 100 steps for each unit.
  private static let unitsPerReport = 100
  /// The number of matches between two checks for cancellation, because a check costs more than a match.
  private static let matchesPerLook = 1_024

  private let isCancellable: Bool
  private var units = 0
  private var reports = 0
  private var matches = 0
  /// The pattern that exceeded the budget.
  private(set) var exhausting: String?
  private(set) var isCancelled = false

  private init(isCancellable: Bool) { self.isCancellable = isCancellable }

  /// Adds the length of a text that will be matched.
  ///
  /// - Throws: ``EvaluationError/cancelled``.
  func willMatch(units: Int) throws(EvaluationError) {
    let (sum, isOverflow) = self.units.addingReportingOverflow(units)
    self.units = isOverflow ? .max : sum
    matches &+= 1
    if matches % Self.matchesPerLook == 0 { lookForCancellation() }
    if isCancelled { throw .cancelled }
  }

  /// Counts another 10,000 steps of the engine.
  ///
  /// - Returns: Whether the match may continue.
  func spend(on pattern: String) -> Bool {
    lookForCancellation()
    if isCancelled { return false }
    reports += 1
    guard reports > Self.freeReports + units / Self.unitsPerReport else { return true }
    exhausting = pattern
    return false
  }

  private func lookForCancellation() {
    if isCancellable, !isCancelled { isCancelled = Task<Never, Never>.isCancelled }
  }

  // MARK: The current budget

  /// The thread-local slot for the budget. Nil if the system has no more slots; matches then have no common limit.
  private static let slot: pthread_key_t? = {
    var key = pthread_key_t()
    return pthread_key_create(&key, nil) == 0 ? key : nil
  }()

  /// The budget of the calling thread; nil if it has no limit.
  static var current: MatchBudget? {
    guard let slot, let address = pthread_getspecific(slot) else { return nil }
    return Unmanaged<MatchBudget>.fromOpaque(address).takeUnretainedValue()
  }

  /// Runs a body with a budget. If the caller already has a budget, the body uses that one.
  ///
  /// - Parameters:
  ///   - isCancellable: Whether matching throws an error when the task is cancelled.
  ///   - isAnew: Whether the body gets its own budget even if the caller has one.
  static func run<R>(isCancellable: Bool, isAnew: Bool = false, _ body: () throws -> R) rethrows -> R {
    guard let slot else { return try body() }
    let outer = pthread_getspecific(slot)
    if outer != nil, !isAnew { return try body() }
    let budget = MatchBudget(isCancellable: isCancellable)
    // The thread-local pointer does not retain the budget, so the budget must live until the body ends.
    return try withExtendedLifetime(budget) {
      pthread_setspecific(slot, Unmanaged.passUnretained(budget).toOpaque())
      defer { pthread_setspecific(slot, outer) }
      return try body()
    }
  }
}
