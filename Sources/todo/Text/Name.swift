import ArgumentParser
import CDConsole
import Foundation

/// The rules for a name that a person types.
enum Name {
  /// The name without the blanks around it.
  static func trimmed(_ text: String) -> String { text.trimmingCharacters(in: .whitespaces) }

  /// - Parameter message: The error for a name without a visible character.
  /// - Throws: `ValidationError`.
  static func check(_ text: String, blank message: String) throws {
    if !Table.isPlain(text) { throw ValidationError("A name is one line without control characters.") }
    if Terminal.columns(of: trimmed(text)) == 0 { throw ValidationError(message) }
  }
}
