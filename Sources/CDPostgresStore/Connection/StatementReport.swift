import CDRuntime

/// Statements that are sent to a server together. It reports them to ``StoreLog`` when their replies have come.
struct StatementReport {
  private let texts: [String]
  private let beginning = ContinuousClock.now

  /// Returns nil if nobody wants to know.
  init?(_ texts: @autoclosure () -> [String]) {
    guard StoreLog.isOn else { return nil }
    self.texts = texts()
  }

  /// Reports each statement with the time in which the program has waited for all of them.
  func send() {
    let duration = ContinuousClock.now - beginning
    for text in texts { StoreLog.report(.statement(text: text, duration: duration)) }
  }
}
