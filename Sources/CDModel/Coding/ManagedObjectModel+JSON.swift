#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension ManagedObjectModel {
  /// The format version of compiled models that this release writes and reads.
  public static let jsonFormatVersion = ModelDecodingError.formatVersion

  /// The model as canonical JSON, which `cdgen compile` writes. <doc:CanonicalJSON> describes it.
  ///
  /// Reading the text gives an equal model, and that model gives the same text.
  public var canonicalJSON: String { jsonValue.canonicalText }

  /// The model as a JSON value. ``canonicalJSON`` is its text.
  @_optimize(none)
  package var jsonValue: JSONValue {
    let encoder = ModelEncoder(purpose: .canonical)
    var writer = JSONObjectWriter()
    writer.add("formatVersion", Self.jsonFormatVersion)
    writer.add("name", name)
    writer.add("id", id.uuidString)
    writer.add("imports", list: imports.map(JSONValue.string))
    writer.add("current", currentVersionNumber)
    writer.add("locked", list: lockedVersionNumbers.ordered().map { JSONValue.int(Int64($0)) })
    writer.add(
      "versions",
      list: versions.map { version in
        var writer = JSONObjectWriter()
        encoder.version(version, into: &writer)
        return writer.value
      })
    writer.add("mappings", list: mappings.map(encoder.rules))
    return writer.value
  }

  /// Reads a model from the text of ``canonicalJSON``. White space and the order of an object's members do not matter.
  ///
  /// The names and rules of the model are not checked.
  public init(canonicalJSON text: String) throws(ModelDecodingError) {
    try self.init(jsonValue: JSONValue(decoding: text))
  }

  /// Reads a model file that `cdgen compile` wrote.
  ///
  /// - Throws: `ModelDecodingError` if the file does not contain a model, and Foundation's error if it cannot be
  ///   read.
  public init(contentsOf url: URL) throws {
    try self.init(canonicalJSON: String(decoding: Data(contentsOf: url), as: UTF8.self))
  }

  /// Reads a model from its ``jsonValue``.
  @_optimize(none)
  package init(jsonValue: JSONValue) throws(ModelDecodingError) {
    var reader = try JSONElement(jsonValue).object()
    try reader.checkFormatVersion()
    let name = try reader.required("name").string()
    let identity = try reader.required("id")
    guard let id = UUID(uuidString: try identity.string()) else {
      throw identity.error(.invalidValue(found: try identity.string(), expected: "a UUID"))
    }
    let imports = try reader.list("imports") { (each) throws(ModelDecodingError) in try each.string() }
    let current = try reader.required("current").int()
    let locked = try reader.list("locked") { (each) throws(ModelDecodingError) in try each.int() }
    let versions = try reader.list("versions") { (each) throws(ModelDecodingError) in
      try ModelVersion(decoding: each.object())
    }
    let mappings = try reader.list("mappings", MappingRules.init(decoding:))
    try reader.finish()
    self.init(
      name: name, id: id, imports: imports, versions: versions, currentVersionNumber: current,
      mappings: mappings, lockedVersionNumbers: Set(locked))
  }
}

extension JSONObjectReader {
  /// Checks the format version before any other member is read, because a later format may use the same members
  /// differently.
  mutating func checkFormatVersion() throws(ModelDecodingError) {
    let element = try required("formatVersion")
    let found = try element.int()
    guard found == ManagedObjectModel.jsonFormatVersion else {
      throw element.error(.unsupportedFormat(Int64(found)))
    }
  }
}

extension JSONValue {
  init(decoding text: String) throws(ModelDecodingError) {
    do {
      try self.init(parsing: text)
    } catch {
      throw ModelDecodingError(.syntax(error.description), path: "")
    }
  }
}
