/// What is wrong with a file that a ``StoreFormat`` reads. Errors name no values.
///
/// ```swift
/// func read(_ input: StoreInput, into builder: StoreBuilder) throws {
///   let bytes = try input.readAll()
///   guard bytes.first == 0x7B else { throw StoreFormatError(.syntax("no JSON object")) }
/// }
/// ```
public struct StoreFormatError: Error, Hashable, Sendable {
  /// What is wrong.
  public enum Reason: Hashable, Sendable {
    /// The file is of another kind.
    case otherFormat
    /// A later release, or a later version of the format, has written it.
    case newerFormat(found: Int, supported: Int)
    /// The file ends before it should.
    case truncated
    /// A checksum is not that of the bytes: the file was changed or is damaged.
    case checksum
    /// Text that is not UTF-8, or a file that says it is of another encoding.
    case encoding
    /// A document type, or an entity other than XML's own five: neither is read.
    case documentType
    /// The file does not have the form that it should have.
    case syntax(String)
    /// The metadata lack a key, or have a value there that cannot be.
    case metadata(key: String)
    /// The model that the store carries has no such entity, or the store does not hold it.
    case unknownEntity(String)
    /// The entity, or the table of that name, has no such property.
    case unknownProperty(entity: String, property: String)
    /// A value is not what its property can have, or a mandatory one is missing.
    case invalidValue(entity: String, property: String, key: Int64?)
    /// A row of a table is not of the form that it should have.
    case invalidRow(entity: String, key: Int64?)
    /// Two objects have one key, or two rows say the same.
    case duplicateKey(entity: String, key: Int64?)
    /// Two objects have equal values under a `unique:` rule or are the one partner of a third, by its index.
    case notUnique(index: String)
    /// A reference leads to no object.
    case danglingReference(entity: String, key: Int64?, destination: String)
  }

  /// What is wrong.
  public var reason: Reason
  /// The line where it was noticed, from 1, in a format of lines.
  public var line: Int?
  /// The byte of the line, from 1, in a format of lines.
  public var column: Int?
  /// The byte where it was noticed, from 0.
  public var offset: Int?

  /// An error, with the place where it was noticed as far as that is known.
  @inline(never)
  public init(_ reason: Reason, line: Int? = nil, column: Int? = nil, offset: Int? = nil) {
    self.reason = reason
    self.line = line
    self.column = column
    self.offset = offset
  }
}

extension StoreFormatError: CustomStringConvertible {
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
