/// A defect of a file that a ``StoreFormat`` reads. Errors contain no values of the file.
///
/// ```swift
/// func read(_ input: StoreInput, into builder: StoreBuilder) throws {
///   let bytes = try input.readAll()
///   guard bytes.first == 0x7B else { throw StoreFormatError(.syntax("no JSON object")) }
/// }
/// ```
public struct StoreFormatError: Error, Hashable, Sendable {
  /// The reason of the error.
  public enum Reason: Hashable, Sendable {
    /// The file has another format.
    case otherFormat
    /// A later release of cdgen, or a later version of the format, has written the file.
    case newerFormat(found: Int, supported: Int)
    /// The file ends too early.
    case truncated
    /// A checksum does not match the bytes: the file was changed or is damaged.
    case checksum
    /// The file contains text that is not UTF-8, or declares another encoding.
    case encoding
    /// The file contains a document type, or an entity other than XML's own five. Neither is supported.
    case documentType
    /// The file does not have the expected structure.
    case syntax(String)
    /// The metadata have no value, or no valid value, for a key.
    case metadata(key: String)
    /// The model that the store carries has no such entity, or the entity is abstract, or the store does not hold it.
    case unknownEntity(String)
    /// The entity, or the table of that name, has no such property.
    case unknownProperty(entity: String, property: String)
    /// The property cannot have the value, or a mandatory value is missing.
    case invalidValue(entity: String, property: String, key: Int64?)
    /// A row of a table does not have the expected structure.
    case invalidRow(entity: String, key: Int64?)
    /// Two objects have the same key, or two rows are the same.
    case duplicateKey(entity: String, key: Int64?)
    /// Objects break the rule of a unique index: they have equal values under a `unique:` rule, or a third object is
    /// the to-one partner of both.
    case notUnique(index: String)
    /// A reference leads to no object.
    case danglingReference(entity: String, key: Int64?, destination: String)
  }

  /// The reason of the error.
  public var reason: Reason
  /// The line where the error was noticed, counted from 1, in a format with lines.
  public var line: Int?
  /// The byte within the line, counted from 1, in a format with lines.
  public var column: Int?
  /// The offset of the byte where the error was noticed, counted from 0.
  public var offset: Int?

  /// Creates an error, with the position where it was noticed, as far as it is known.
  @inline(never)
  public init(_ reason: Reason, line: Int? = nil, column: Int? = nil, offset: Int? = nil) {
    self.reason = reason
    self.line = line
    self.column = column
    self.offset = offset
  }
}

extension StoreFormatError: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    let text =
      switch reason {
      case .otherFormat: "the file has another format; open it with that format, or choose another file"
      case .newerFormat(let found, let supported):
        "it has the file format \(found), but this release of cdgen reads formats up to \(supported); update cdgen"
      case .truncated: "the file is truncated; replace it with a backup"
      case .checksum:
        "its checksum is wrong, so its bytes have changed since they were written; replace the file with a backup"
      case .encoding: "its text is not UTF-8; save it as UTF-8, or replace it with a backup"
      case .documentType:
        "it contains a document type or an XML entity, which a store must not have; write the text itself instead"
      case .syntax(let text): text
      case .metadata(let key): "its metadata contain no readable '\(key)'; copy that entry from a backup"
      case .unknownEntity(let name):
        "it contains objects of '\(name)', which is not an entity of the file's model, or an abstract one; "
          + "correct the name or remove the objects"
      case .unknownProperty(let entity, let property):
        "'\(entity)' has no property '\(property)'; correct the name or remove the value"
      case .invalidValue(let entity, let property, let key):
        "'\(entity)'\(Self.text(key)) has an invalid value for '\(property)'; correct the value"
      case .invalidRow(let entity, let key):
        "a row of '\(entity)'\(Self.text(key)) is invalid; correct or remove it"
      case .duplicateKey(let entity, let key):
        "'\(entity)'\(Self.text(key)) occurs twice; remove one of the two rows, or give it a new key"
      case .notUnique(let index):
        "several objects have equal values for the unique index '\(index)'; change the values of all but one"
      case .danglingReference(let entity, let key, let destination):
        "'\(entity)'\(Self.text(key)) refers to an object of '\(destination)' that does not exist; "
          + "add the object or remove the reference"
      }
    if let line { return "line \(line)\(column.map { ", column \($0)" } ?? ""): \(text)" }
    if let offset { return "byte \(offset): \(text)" }
    return text
  }

  private static func text(_ key: Int64?) -> String { key.map { " p\($0)" } ?? "" }
}

extension StoreFormatError: PresentableError {
  public var situation: ErrorSituation { .storeDamaged }
}
