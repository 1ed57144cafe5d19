#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What all regular expressions of one fetch, batch or save may cost together.
///
/// The bound of a single match is no bound for a fetch of many rows. The budget is counted in the engine's steps and not
/// in seconds, so that the same fetch has the same answer on every machine. It grows with the texts that are matched: a
/// pattern that takes a few steps for each character never reaches it, however many rows there are.
///
/// The thread that fetches has the budget as its current one. SQL's functions and the evaluator spend it alike.
final class MatchBudget {
  /// How many reports of the engine, one for each 10,000 steps, are free.
  private static let freeReports = 2_000
  /// How many UTF-16 units of text allow one more: 100 steps for each.
  private static let unitsPerReport = 100
  /// How often a match looks whether the task is cancelled: as seldom as a look costs more than a match.
  private static let matchesPerLook = 1_024

  private let isCancellable: Bool
  private var units = 0
  private var reports = 0
  private var matches = 0
  /// The pattern for which nothing was left.
  private(set) var exhausting: String?
  private(set) var isCancelled = false

  private init(isCancellable: Bool) { self.isCancellable = isCancellable }

  /// Notes that a text is about to be matched.
  ///
  /// - Throws: ``EvaluationError/cancelled``.
  func willMatch(units: Int) throws(EvaluationError) {
    let (sum, isOverflow) = self.units.addingReportingOverflow(units)
    self.units = isOverflow ? .max : sum
    matches &+= 1
    if matches % Self.matchesPerLook == 0 { lookForCancellation() }
    if isCancelled { throw .cancelled }
  }

  /// Notes that the engine has taken another 10,000 steps.
  ///
  /// - Returns: Whether it may go on.
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

  // MARK: The current one

  /// Where a thread keeps its budget; nil where the system has no room for it, and nothing is bounded.
  private static let slot: pthread_key_t? = {
    var key = pthread_key_t()
    return pthread_key_create(&key, nil) == 0 ? key : nil
  }()

  /// The budget of what the calling thread is doing; nil where that has no bound.
  static var current: MatchBudget? {
    guard let slot, let address = pthread_getspecific(slot) else { return nil }
    return Unmanaged<MatchBudget>.fromOpaque(address).takeUnretainedValue()
  }

  /// Runs a body with a budget, and with its caller's where that has one.
  ///
  /// - Parameters:
  ///   - isCancellable: Whether matching ends with an error when the task is cancelled.
  ///   - isAnew: Whether the body has a budget of its own all the same.
  static func run<R>(isCancellable: Bool, isAnew: Bool = false, _ body: () throws -> R) rethrows -> R {
    guard let slot else { return try body() }
    let outer = pthread_getspecific(slot)
    if outer != nil, !isAnew { return try body() }
    let budget = MatchBudget(isCancellable: isCancellable)
    // The thread's reference is borrowed: the budget lives until the body has ended.
    return try withExtendedLifetime(budget) {
      pthread_setspecific(slot, Unmanaged.passUnretained(budget).toOpaque())
      defer { pthread_setspecific(slot, outer) }
      return try body()
    }
  }
}
