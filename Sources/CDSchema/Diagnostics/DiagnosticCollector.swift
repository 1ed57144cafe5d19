/// Gathers what the stages of loading have to say, so that every mistake is reported and not the first alone.
///
/// A class because all stages of one load share it; it never leaves the call that made it.
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

  /// How many different ones have been reported.
  var count: Int { reported.count }

  var containsErrors: Bool { reported.containsErrors }

  /// Everything that was reported, once each, in order of place.
  var sorted: [Diagnostic] { reported.sorted() }
}
