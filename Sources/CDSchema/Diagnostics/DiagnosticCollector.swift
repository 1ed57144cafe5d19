/// Collects the diagnostics of all loading stages, so that every mistake is reported and not only the first one.
///
/// It is a class because all stages of one load share it. It never leaves the call that created it.
final class DiagnosticCollector {
  private var reported: Set<Diagnostic> = []

  private func report(_ diagnostic: Diagnostic) {
    reported.insert(diagnostic)
  }

  func error(_ location: SourceLocation, _ message: String, suggestion: String? = nil) {
    report(Diagnostic(.error, at: location, message, suggestion: suggestion))
  }

  func warning(_ location: SourceLocation, _ message: String, suggestion: String? = nil) {
    report(Diagnostic(.warning, at: location, message, suggestion: suggestion))
  }

  func note(_ location: SourceLocation, _ message: String) {
    report(Diagnostic(.note, at: location, message))
  }

  /// The number of different diagnostics.
  var count: Int { reported.count }

  var containsErrors: Bool { reported.containsErrors }

  /// All diagnostics without duplicates, in order of position.
  var sorted: [Diagnostic] { reported.sorted() }
}
