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
    /// The model that the store carries has no such entity, or the store does not hold it.
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
      case .otherFormat: "it is a file of another kind; open it as what it is, or choose another file"
      case .newerFormat(let found, let supported):
        "it has format \(found), and this release reads up to \(supported); update cdgen"
      case .truncated: "it ends before it should; put a backup in its place"
      case .checksum: "its bytes are not those that were written; put a backup in its place"
      case .encoding: "its text is not UTF-8; save it as UTF-8, or put a backup in its place"
      case .documentType:
        "it has a document type or an entity, which a store has not; write the text itself instead"
      case .syntax(let text): text
      case .metadata(let key): "its metadata have no readable '\(key)'; take that from a backup"
      case .unknownEntity(let name):
        "it has objects of '\(name)', which the model that it carries has not; correct the name or remove them"
      case .unknownProperty(let entity, let property):
        "'\(entity)' has no '\(property)'; correct the name or remove the value"
      case .invalidValue(let entity, let property, let key):
        "'\(entity)'\(Self.text(key)) has no value that '\(property)' can have; give it one"
      case .invalidRow(let entity, let key):
        "a row of '\(entity)'\(Self.text(key)) is not as it should be; correct or remove it"
      case .duplicateKey(let entity, let key):
        "'\(entity)'\(Self.text(key)) is there twice; remove one of them, or give it a key of its own"
      case .notUnique(let index):
        "its objects break the rule of the index '\(index)'; give all but one of them other values"
      case .danglingReference(let entity, let key, let destination):
        "'\(entity)'\(Self.text(key)) refers to an object of '\(destination)' that is not there; "
          + "add the object or remove the reference"
      }
    if let line { return "line \(line)\(column.map { ", column \($0)" } ?? ""): \(text)" }
    if let offset { return "byte \(offset): \(text)" }
    return text
  }

  private static func text(_ key: Int64?) -> String { key.map { " p\($0)" } ?? "" }
}
