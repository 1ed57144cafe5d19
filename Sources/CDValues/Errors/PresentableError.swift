import Synchronization

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// An error with texts for people who use an app. All public errors are presentable.
///
/// An error has two audiences. `description` is for developers: it names files, versions, entities and statements.
/// `localizedDescription` is for the people who use the app: it says what did not work, and ``recoverySuggestion`` says
/// what they can do.
///
/// ```swift
/// do {
///   try context.save()
/// } catch {
///   logger.error("\(error)")
///   alert = Alert(title: error.localizedDescription, message: (error as? any LocalizedError)?.recoverySuggestion)
/// }
/// ```
///
/// ``ErrorTexts`` translates the texts.
public protocol PresentableError: LocalizedError {
  /// The situation of the person who uses the app.
  var situation: ErrorSituation { get }
  /// The values that stand for `{0}` and `{1}` in the texts. They are translated, too.
  var situationNames: [String] { get }
}

extension PresentableError {
  /// No values.
  public var situationNames: [String] { [] }

  /// What did not work, in one sentence.
  public var errorDescription: String? {
    ErrorTexts.text(of: self, "description", \.description)
  }
  /// The cause, in one sentence.
  public var failureReason: String? { ErrorTexts.text(of: self, "reason", \.reason) }
  /// Nil: the errors have no pages of help.
  public var helpAnchor: String? { nil }
  /// The remedy, in one sentence.
  public var recoverySuggestion: String? {
    ErrorTexts.text(of: self, "suggestion", \.suggestion)
  }
}

/// The texts of errors for people who use an app, and their translation.
///
/// The texts are English. To translate them, give a function that looks a key up, for example in the app's table of
/// strings. ``english`` has all keys. The names of entities and properties have the keys `entity.NAME` and
/// `property.NAME`. Without a translation, a name becomes words: `dueDate` becomes "due date".
///
/// ```swift
/// ErrorTexts.lookUp = { key in
///   let text = NSLocalizedString(key, tableName: "Errors", value: "", comment: "")
///   return text.isEmpty ? nil : text
/// }
/// ```
public enum ErrorTexts {
  private static let function = Mutex<(@Sendable (String) -> String?)?>(nil)

  /// The function that returns the translation for a key; nil for the English text.
  public static var lookUp: (@Sendable (String) -> String?)? {
    get { function.withLock { $0 } }
    set { function.withLock { $0 = newValue } }
  }

  /// All keys with their English texts. `{0}` and `{1}` stand for names.
  public static var english: [String: String] {
    var result: [String: String] = [:]
    for situation in ErrorSituation.allCases {
      let texts = situation.english
      result[situation.rawValue + ".description"] = texts.description
      result[situation.rawValue + ".reason"] = texts.reason
      result[situation.rawValue + ".suggestion"] = texts.suggestion
    }
    return result
  }

  /// Returns a text of an error's situation, translated and with names in it.
  fileprivate static func text(
    of error: some PresentableError, _ part: String, _ english: (ErrorSituation.Texts) -> String
  ) -> String {
    let situation = error.situation
    let text = lookUp?("\(situation.rawValue).\(part)") ?? english(situation.english)
    return filled(text, with: error.situationNames)
  }

  /// Replaces `{0}` and so on by names.
  private static func filled(_ text: String, with names: [String]) -> String {
    var parts = text.split(separator: "{", omittingEmptySubsequences: false).map(String.init)
    for index in parts.indices.dropFirst() {
      let digits = parts[index].prefix { $0.isNumber }
      let rest = parts[index].dropFirst(digits.count)
      if let number = Int(digits), names.indices.contains(number), rest.hasPrefix("}") {
        parts[index] = name(names[number]) + rest.dropFirst()
      } else {
        parts[index] = "{" + parts[index]
      }
    }
    return parts.joined()
  }

  /// The words for a name of the model.
  private static func name(_ key: String) -> String {
    if let found = lookUp?(key) { return found }
    let name = Array(key[(key.lastIndex(of: ".").map(key.index(after:)) ?? key.startIndex)...])
    var words = ""
    for (index, character) in name.enumerated() {
      guard character.isUppercase else {
        words.append(character == "_" ? " " : character)
        continue
      }
      // A word begins where a lower-case letter ends, and before the last letter of an abbreviation: `URLOfImage`.
      let isFollowedByLower = index + 1 < name.count && name[index + 1].isLowercase
      if index > 0, isFollowedByLower || !name[index - 1].isUppercase { words += " " }
      words += isFollowedByLower ? character.lowercased() : String(character)
    }
    return words
  }
}
