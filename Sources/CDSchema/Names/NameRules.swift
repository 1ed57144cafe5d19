import CDModel
import CDTooling
import Foundation  // FoundationEssentials cannot normalise texts.

/// The rules for names. Names become Swift identifiers, table columns and words in expressions.
public enum NameRules {
  /// Whether a name consists of a letter or an underscore, followed by letters, digits and underscores. All scripts
  /// that Swift allows are valid.
  public static func isIdentifier(_ name: String) -> Bool {
    guard let first = name.unicodeScalars.first else { return false }
    return (first == "_" || first.properties.isXIDStart)
      && name.unicodeScalars.dropFirst().allSatisfy { $0 == "_" || $0.properties.isXIDContinue }
  }

  static func isDottedIdentifier(_ name: String) -> Bool {
    name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { isIdentifier(String($0)) }
  }

  /// The reason why a name is refused; nil for a valid name.
  public static func problem(with name: String) -> String? {
    if !isIdentifier(name) {
      return "'\(name)' is not a valid name: a name is a letter and then letters, digits and underscores"
    }
    if !composed(name).utf8.elementsEqual(name.utf8) {
      return "'\(name)' is not in Unicode's composed form (NFC), but a store compares names by their bytes; "
        + "type the name again, or convert the file to NFC"
    }
    if name.hasPrefix("_") {
      return "'\(name)' starts with an underscore; such names are reserved for cdgen's own columns and tables"
    }
    if name.lowercased().hasPrefix("sqlite_") {
      return "'\(name)' starts with 'sqlite_'; such names are reserved for SQLite"
    }
    return nil
  }

  /// The name in Unicode's composed form. Swift takes two forms of a name for equal, but the tables of a store do not.
  public static func composed(_ name: String) -> String {
    name.utf8.allSatisfy { $0 < 0x80 } ? name : name.precomposedStringWithCanonicalMapping
  }

  /// Whether an attribute or relationship can have this name in Swift.
  public static func isPropertyName(_ name: String) -> Bool {
    isIdentifier(name) && !ReservedNames.properties.contains(name)
  }

  /// Whether a field of a composite can have this name in Swift.
  public static func isFieldName(_ name: String) -> Bool {
    isIdentifier(name) && !ReservedNames.fields.contains(name)
  }

  /// Whether an entity's class can have this name.
  public static func isClassName(_ name: String, ofModel model: String) -> Bool {
    isIdentifier(name) && !ReservedNames.types.contains(name)
      && !ReservedNames.hiddenClasses.contains(name) && name != ManagedObjectModel.typeName(ofModel: model)
  }

  /// Whether an enumeration or a composite can have this name.
  public static func isValueTypeName(_ name: String, ofModel model: String) -> Bool {
    isClassName(name, ofModel: model) && !ReservedNames.hiddenValues.contains(name)
  }

  /// Whether a named fetch of the schema can have this name.
  public static func isFetchName(_ name: String) -> Bool {
    problem(with: name) == nil && !ReservedNames.statics.contains(name)
  }
}
