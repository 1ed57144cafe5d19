import CDRuntime
import Foundation

extension ErrorTexts {
  /// Gives entities and properties the names that the pages use. Without it, a `ToDo` would be a "to do".
  static func useWordsOfTheApp() {
    let words = [
      "entity.ToDo": "item", "entity.Category": "category",
      "property.ToDo.dueDate": "due date", "property.ToDo.doNotAlert": "alert",
    ]
    lookUp = { words[$0] }
  }
}

/// The description of an error and its remedy, as the error itself states them for people.
func explanation(of error: any Error) -> String {
  let suggestion = (error as? any LocalizedError)?.recoverySuggestion
  return [error.localizedDescription, suggestion].compactMap { $0 }.joined(separator: " ")
}

extension ValidationError {
  /// A sentence beside the field that the error belongs to.
  var sentence: String {
    guard let bound = brokenBound else { return localizedDescription }
    let limit =
      switch bound.limit {
      case .int(1) where bound.isMinimum: "Enter at least one character."
      case .int(let number): "Use \(bound.isMinimum ? "at least" : "at most") \(number) characters."
      case .date(let date):
        "Enter a date \(bound.isMinimum ? "after" : "before") \(LocalTime.readable(date))."
      default: ""
      }
    return "\(localizedDescription) \(limit)"
  }
}
