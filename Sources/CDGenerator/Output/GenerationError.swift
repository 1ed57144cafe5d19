/// The reasons why no Swift can be generated for a model.
public struct GenerationError: Error, Hashable, Sendable {
  /// All problems, in the order of the model. Never empty.
  public let problems: [GenerationProblem]
}

extension GenerationError: CustomStringConvertible {
  /// The problems, one line each.
  public var description: String {
    problems.map(\.description).joined(separator: "\n")
  }
}

/// A problem that prevents the generation of Swift.
public struct GenerationProblem: Hashable, Sendable {
  /// The sort of problem.
  public enum Reason: Hashable, Sendable {
    /// The model's current version is not among its versions.
    case missingCurrentVersion(Int)
    /// A name is not a Swift identifier.
    case invalidName(String)
    /// Generated code itself needs this name.
    case reservedName(String)
    /// Two declarations have the same Swift name.
    case duplicateName(String)
    /// The version has no enumeration, composite or entity with this name.
    case unknownType(String)
    /// The entity has no property with this name.
    case unknownProperty(String)
    /// A default or a raw value is not a value of its type.
    case unfittingValue
    /// A type is not allowed here, such as a composite inside a composite.
    case unsupportedType(String)
    /// A predicate has a mistake, described in the checker's words.
    case invalidPredicate(String)
  }

  /// The description of the problem.
  public let reason: Reason

  /// The entity, enumeration or composite; nil if the problem concerns the whole model.
  public let type: String?

  /// The property, case, field or fetch; nil if the problem concerns the whole type.
  public let member: String?

  init(_ reason: Reason, type: String? = nil, member: String? = nil) {
    self.reason = reason
    self.type = type
    self.member = member
  }
}

extension GenerationProblem: CustomStringConvertible {
  /// The element, the problem and its remedy: `Book.type: …`.
  public var description: String {
    let place = [type, member].compactMap(\.self).joined(separator: ".")
    return place.isEmpty ? message : "\(place): \(message)"
  }

  private var message: String {
    switch reason {
    case .missingCurrentVersion(let number):
      "the model has no version \(number), which is set as its current version"
    case .invalidName(let name):
      "'\(name)' is not a valid Swift name; choose another with 'swiftName', or 'class' for an entity"
    case .reservedName(let name):
      "generated code needs the name '\(name)'; choose another with 'swiftName', or 'class' for an entity"
    case .duplicateName(let name):
      "'\(name)' is declared twice in Swift; choose another name with 'swiftName', or 'class' for an entity"
    case .unknownType(let name):
      "there is no entity, enum or composite '\(name)'"
    case .unknownProperty(let name):
      "there is no property '\(name)'"
    case .unfittingValue:
      "the value does not have the type"
    case .unsupportedType(let name):
      "the type '\(name)' is not allowed here"
    case .invalidPredicate(let message):
      message
    }
  }
}
