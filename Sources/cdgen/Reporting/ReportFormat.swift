import ArgumentParser
import CDConsole
import CDModel
import CDSchema

/// The format of a report on models.
enum ReportFormat: String, CaseIterable, ExpressibleByArgument {
  case text, json, sarif
}

extension SARIFLog {
  /// A log of a model's diagnostics.
  static func ofModel() -> SARIFLog {
    SARIFLog(
      tool: "cdgen",
      rules: [
        Rule(id: "model", description: "The files of a model must describe a model that a store can have."),
        Rule(
          id: "migration",
          description: "Each change between two versions needs a rule, and each loss of data a confirmation."),
        Rule(id: "target", description: "A server must be able to keep a store of the model."),
      ])
  }

  mutating func add(_ diagnostic: Diagnostic, rule: String = "model") {
    let level: Level =
      switch diagnostic.severity {
      case .error: .error
      case .warning: .warning
      case .note: .note
      }
    let place = diagnostic.location
    add(rule, level, diagnostic.fullMessage, path: place.path, at: (place.line, place.column))
  }
}
