import CDSchema

/// The words of command lines that messages suggest. A user can copy such a line to a shell.
enum SuggestedCommand {
  /// A path or a name as one word of a shell, in single quotation marks where a shell needs them. Between these, a shell
  /// expands nothing.
  static func word(_ text: String) -> String {
    if !text.isEmpty, text.unicodeScalars.allSatisfy(isPlain) { return text }
    return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }

  private static func isPlain(_ scalar: UnicodeScalar) -> Bool {
    switch scalar {
    case "A"..."Z", "a"..."z", "0"..."9", "_", ".", "/", "-": true
    default: false
    }
  }

  /// A name for the model of a target. The target's name need not be an identifier: the name for `my-app` is `MyApp`.
  static func modelName(forTarget target: String) -> String {
    let parts = target.unicodeScalars.split { $0 != "_" && !$0.properties.isXIDContinue }
    let joined = parts.map { capitalized(String($0)) }.joined()
    // A name starts with a letter.
    let name = capitalized(String(joined.unicodeScalars.drop { !$0.properties.isXIDStart }))
    return ModelTemplate.problem(withName: name) == nil ? name : "Model"
  }

  private static func capitalized(_ text: String) -> String {
    text.prefix(1).uppercased() + text.dropFirst()
  }
}
