/// Why a model gives no Swift.
public struct GenerationError: Error, Hashable, Sendable {
  /// Everything that is wrong, in the order of the model. Never empty.
  public let problems: [GenerationProblem]
}

extension GenerationError: CustomStringConvertible {
  /// The problems, a line each.
  public var description: String {
    problems.map(\.description).joined(separator: "\n")
  }
}

/// One reason why a model gives no Swift.
public struct GenerationProblem: Hashable, Sendable {
  /// What stands in the way.
  public enum Reason: Hashable, Sendable {
    /// The model's current version is not among its versions.
    case missingCurrentVersion(Int)
    /// A name that is no Swift identifier.
    case invalidName(String)
    /// A name that generated code itself needs.
    case reservedName(String)
    /// Two declarations give one Swift name.
    case duplicateName(String)
    /// The version has no enumeration, composite or entity of a name.
    case unknownType(String)
    /// The entity has no property of a name.
    case unknownProperty(String)
    /// A default or a raw value that is none of its type.
    case unfittingValue
    /// A type that has no place there: a composite within a composite, for instance.
    case unsupportedType(String)
    /// A predicate's mistake, in the checker's words.
    case invalidPredicate(String)
  }

  public let reason: Reason

  /// The entity, enumeration or composite; nil where the whole model is meant.
  public let type: String?

  /// The property, case, field or fetch; nil where the whole type is meant.
  public let member: String?

  init(_ reason: Reason, type: String? = nil, member: String? = nil) {
    self.reason = reason
    self.type = type
    self.member = member
  }
}

extension GenerationProblem: CustomStringConvertible {
  /// `Book.type: …`, with the remedy.
  public var description: String {
    let place = [type, member].compactMap(\.self).joined(separator: ".")
    return place.isEmpty ? message : "\(place): \(message)"
  }

  private var message: String {
    switch reason {
    case .missingCurrentVersion(let number):
      "the model has no version \(number), which is to be its current one"
    case .invalidName(let name):
      "'\(name)' is no Swift name; give another with 'swiftName', or 'class' for an entity"
    case .reservedName(let name):
      "generated code needs the name '\(name)' itself; give another with 'swiftName', or 'class' for an entity"
    case .duplicateName(let name):
      "'\(name)' is declared twice in Swift; give another name with 'swiftName', or 'class' for an entity"
    case .unknownType(let name):
      "there is no entity, enum or composite '\(name)'"
    case .unknownProperty(let name):
      "there is no property '\(name)'"
    case .unfittingValue:
      "the value is none of the type"
    case .unsupportedType(let name):
      "the type '\(name)' cannot stand here"
    case .invalidPredicate(let message):
      message
    }
  }
}
