public import CDModel
import CDTooling

/// The schema of the JSON that the snapshots of generated classes have: of an app's data, not of its model.
///
/// Every snapshot that an object can have is valid. A rule that the schema language of JSON cannot express exactly is not in
/// the schema, but in a description.
public struct DataSchema: Sendable {
  /// The form of dates, which the app chooses with a strategy of its encoder.
  public enum Dates: String, CaseIterable, Sendable {
    /// Seconds since 2001-01-01 00:00:00 UTC, which is the default of `JSONEncoder`.
    case reference
    /// A text such as `2030-01-02T03:04:05Z`.
    case iso8601
  }

  private let graph: EntityGraph
  private let name: String
  private let dates: Dates
  private let isNested: Bool

  /// Creates the schema of a version's data.
  ///
  /// - Parameters:
  ///   - version: The version of the model.
  ///   - name: The model's name.
  ///   - dates: The form of dates.
  ///   - isNested: Whether related objects can be present as snapshots.
  public init(_ version: ModelVersion, named name: String, dates: Dates = .reference, isNested: Bool = false)
  {
    graph = EntityGraph(version)
    self.name = name
    self.dates = dates
    self.isNested = isNested
  }

  /// The text of a JSON Schema, draft 2020-12. A value that is valid is the snapshot of an object of any entity that is not
  /// abstract.
  public var jsonSchema: String {
    let concrete = graph.version.entities.filter { !$0.isAbstract }
    let schema = JSONValue.object([
      .init("$schema", .string("https://json-schema.org/draft/2020-12/schema")),
      .init("title", .string(name)),
      .init(
        "anyOf",
        .array(concrete.map { .object([Self.reference(to: $0.swiftName, in: "#/$defs/")]) })),
      .init("$defs", .object(definitions(in: "#/$defs/"))),
    ])
    return schema.indentedText
  }

  /// The text of an OpenAPI 3.1 document without paths, whose components describe the snapshots.
  public var openAPI: String {
    let document = JSONValue.object([
      .init("openapi", .string("3.1.0")),
      .init(
        "info",
        .object([.init("title", .string(name)), .init("version", .string("\(graph.version.number)"))])),
      .init("paths", .object([])),
      .init(
        "components",
        .object([.init("schemas", .object(definitions(in: "#/components/schemas/")))])),
    ])
    return document.indentedText
  }

  private static let idName = "ManagedObjectID"

  private static func reference(to name: String, in prefix: String) -> JSONValue.Member {
    .init("$ref", .string(prefix + name))
  }

  // MARK: Definitions

  private func definitions(in prefix: String) -> [JSONValue.Member] {
    var result: [JSONValue.Member] = [
      .init(
        Self.idName,
        .object([
          .init("description", .string("The identifier of an object, as a URI.")),
          .init("type", .string("string")),
          .init("pattern", .string("^cdgen://[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}/[^/]+/p[1-9][0-9]*$")),
        ]))
    ]
    for each in graph.version.enums { result.append(.init(each.name, definition(of: each))) }
    for each in graph.version.composites { result.append(.init(each.name, definition(of: each, prefix))) }
    for each in graph.version.entities { result.append(.init(each.swiftName, definition(of: each, prefix))) }
    return result
  }

  private func definition(of enumeration: EnumDescription) -> JSONValue {
    let raw = type(of: enumeration.rawType)
    return .object(
      described(enumeration.doc, raw)
        + [.init("enum", .array(enumeration.cases.map { value($0.rawValue) }))])
  }

  private func definition(of composite: CompositeDescription, _ prefix: String) -> JSONValue {
    object(composite.doc, composite.fields.map { property($0, prefix) })
  }

  private func definition(of entity: EntityDescription, _ prefix: String) -> JSONValue {
    var properties: [Property] = [
      Property(name: "objectID", schema: [Self.reference(to: Self.idName, in: prefix)], isRequired: true)
    ]
    properties += graph.attributes(of: entity.name).map { property($0, prefix) }
    properties += graph.relationships(of: entity.name).map { property($0, prefix) }
    return object(entity.doc, properties)
  }

  private struct Property {
    let name: String
    let schema: [JSONValue.Member]
    let isRequired: Bool
  }

  private func object(_ doc: String?, _ properties: [Property]) -> JSONValue {
    var members = described(doc, [.init("type", .string("object"))])
    members.append(
      .init("properties", .object(properties.map { .init($0.name, .object($0.schema)) })))
    let required = properties.filter(\.isRequired).map { JSONValue.string($0.name) }
    if !required.isEmpty { members.append(.init("required", .array(required))) }
    return .object(members)
  }

  private func described(_ text: String?, _ members: [JSONValue.Member]) -> [JSONValue.Member] {
    text.map { [.init("description", .string($0))] + members } ?? members
  }

  // MARK: Properties

  private func property(_ attribute: AttributeDescription, _ prefix: String) -> Property {
    var isOptional = attribute.isOptional
    var members: [JSONValue.Member]
    switch attribute.type {
    case .enumeration(let name), .composite(let name): members = [Self.reference(to: name, in: prefix)]
    case .codable:
      // The type is the app's own. Its JSON may not be decodable, so that the property is optional in Swift.
      members = []
      isOptional = true
    default: members = type(of: attribute.type)
    }
    var notes = [attribute.doc].compactMap(\.self)
    for bound in bounds(of: attribute, &notes) {
      // A bound of the attribute takes the place of that of its type.
      members.removeAll { $0.key == bound.key }
      members.append(bound)
    }
    if attribute.derivation != nil { members.append(.init("readOnly", .bool(true))) }
    if case .value(let value)? = attribute.defaultValue, let json = literal(value, of: attribute.type) {
      members.append(.init("default", json))
    }
    return Property(
      name: attribute.swiftName,
      schema: described(notes.isEmpty ? nil : notes.joined(separator: " "), members),
      isRequired: !isOptional)
  }

  private func property(_ relationship: RelationshipDescription, _ prefix: String) -> Property {
    let id = [Self.reference(to: Self.idName, in: prefix)]
    let destination = graph.entity(relationship.destination)?.swiftName ?? relationship.destination
    let item: [JSONValue.Member] =
      isNested
      ? [
        .init(
          "anyOf",
          .array([.object(id), .object([Self.reference(to: destination, in: prefix)])]))
      ] : id
    guard relationship.isToMany else {
      // A mandatory relationship can be unset before a save.
      return Property(
        name: relationship.swiftName, schema: described(relationship.doc, item), isRequired: false)
    }
    var members: [JSONValue.Member] = [.init("type", .string("array")), .init("items", .object(item))]
    if !isNested { members.append(.init("uniqueItems", .bool(true))) }
    return Property(
      name: relationship.swiftName, schema: described(relationship.doc, members), isRequired: true)
  }

  // MARK: Values

  private func type(of type: AttributeType) -> [JSONValue.Member] {
    guard let traits = type.traits else { return [] }
    func named(_ name: String, format: String?) -> [JSONValue.Member] {
      [.init("type", .string(name))] + (format.map { [.init("format", .string($0))] } ?? [])
    }
    if type == .date, dates != .reference { return named("string", format: "date-time") }
    var members = named(typeName(of: traits), format: traits.jsonFormat)
    // The formats `int32` and `int64` already give the range.
    if let range = traits.integerRange, traits.jsonFormat == nil {
      members.append(.init("minimum", .int(range.lowerBound)))
      members.append(.init("maximum", .int(range.upperBound)))
    }
    if type == .data { members.append(.init("contentEncoding", .string("base64"))) }
    return members
  }

  /// JSON Schema's name for the form of a type's values.
  private func typeName(of traits: AttributeTraits) -> String {
    switch value(traits.empty) {
    case .bool: "boolean"
    case .int: traits.integerRange == nil ? "number" : "integer"
    case .double: "number"
    default: "string"
    }
  }

  private func bounds(of attribute: AttributeDescription, _ notes: inout [String]) -> [JSONValue.Member] {
    var members: [JSONValue.Member] = []
    if attribute.type == .date, dates == .reference {
      notes.append("Seconds since 2001-01-01 00:00:00 UTC.")
    }
    let hasNumbers = attribute.type != .date || dates == .reference
    if hasNumbers, let minimum = attribute.minimum {
      members.append(.init("minimum", value(minimum, of: attribute.type)))
    }
    if hasNumbers, let maximum = attribute.maximum {
      members.append(.init("maximum", value(maximum, of: attribute.type)))
    }
    let isData = attribute.type == .data
    if let minimum = attribute.minimumLength {
      // A character has at least one code point, which JSON Schema counts.
      members.append(.init("minLength", .int(Int64(isData ? (minimum + 2) / 3 * 4 : minimum))))
    }
    if let maximum = attribute.maximumLength {
      if isData {
        members.append(.init("maxLength", .int(Int64((maximum + 2) / 3 * 4))))
      } else {
        // A character can have any number of code points.
        notes.append("At most \(maximum) characters.")
      }
    }
    if let pattern = attribute.pattern {
      if Self.isPortable(pattern) {
        members.append(.init("pattern", .string("^(?:\(pattern))$")))
      } else {
        notes.append("Matches the regular expression \(pattern).")
      }
    }
    return members
  }

  /// Whether a regular expression means the same in the dialect of JSON Schema, as far as its spelling shows. The
  /// runtime's dialect has forms that other dialects do not have. Its classes such as `\w` have all of Unicode's characters,
  /// but those of JSON Schema have only ASCII's.
  ///
  /// Validators read a pattern with JavaScript's flag `u`. An escape or a brace without meaning is then a mistake, and the
  /// whole schema cannot be used.
  private static func isPortable(_ pattern: String) -> Bool {
    let others = [
      "(?>", "(?#", "(?i", "(?s", "(?m", "(?x", "(?w", "(?u", "(?-", "++", "*+", "?+", "}+", "&&", "--",
    ]
    if others.contains(where: { pattern.contains($0) }) { return false }
    var rest = Substring(pattern).unicodeScalars
    var isInClass = false
    while let scalar = rest.popFirst() {
      switch scalar {
      case "\\":
        guard let escaped = rest.popFirst() else { return false }
        if escaped == "u" || escaped == "x" {
          guard
            let end = rest.index(rest.startIndex, offsetBy: escaped == "u" ? 4 : 2, limitedBy: rest.endIndex),
            isScalar(rest[..<end])
          else { return false }
          rest = rest[end...]
        } else if !portableEscapes.contains(escaped), escaped != "-" || !isInClass {
          return false
        }
      case "[":
        if isInClass { return false }
        isInClass = true
        if rest.first == "^" { rest.removeFirst() }
        // JavaScript reads `[]` as an empty class, and the runtime's dialect reads `[:` as the start of a named one.
        if rest.first == "]" || rest.first == ":" { return false }
      case "]":
        if !isInClass { return false }
        isInClass = false
      case "{" where !isInClass:
        guard let end = rest.firstIndex(of: "}"), isCount(Substring(rest[..<end])) else { return false }
        rest = rest[rest.index(after: end)...]
      case "}" where !isInClass: return false
      default: break
      }
    }
    return true
  }

  /// The characters whose meaning after a backslash is the same everywhere.
  private static let portableEscapes = Set("^$\\.*+?()[]{}|/nrtf".unicodeScalars)

  /// Whether hexadecimal digits name a character, and not half of a surrogate pair.
  private static func isScalar(_ digits: Substring.UnicodeScalarView) -> Bool {
    digits.allSatisfy(\.properties.isASCIIHexDigit)
      && UInt32(String(digits), radix: 16).flatMap(Unicode.Scalar.init) != nil
  }

  /// Whether a text is the inside of a quantifier's braces, such as `3`, `3,` or `3,5`.
  private static func isCount(_ text: Substring) -> Bool {
    let counts = text.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
    return !counts[0].isEmpty && counts.allSatisfy { $0.utf8.allSatisfy { (48...57).contains($0) } }
  }

  /// A default value in the form of a snapshot's JSON; nil if that form depends on the app.
  private func literal(_ value: AttributeValue, of type: AttributeType) -> JSONValue? {
    switch (type, value) {
    case (.codable, _), (_, .null): nil
    case (.date, _) where dates != .reference: nil
    case (.composite(let name), .composite(let fields)):
      .object(
        (graph.composite(name)?.fields ?? []).compactMap { field in
          literal(fields[field.name] ?? .null, of: field.type).map { .init(field.swiftName, $0) }
        })
    default: self.value(value, of: type)
    }
  }

  /// A value of a type in the form of a snapshot's JSON. A Float is written there with its own few digits, which are another
  /// number than those of the same value as a Double.
  private func value(_ value: AttributeValue, of type: AttributeType) -> JSONValue {
    guard type == .float, case .double(let number) = value,
      let written = Double(Float(number).description)
    else { return self.value(value) }
    return self.value(.double(written))
  }

  private func value(_ value: AttributeValue) -> JSONValue {
    switch value {
    // A number of JSON has any number of digits, but this form keeps about 15 of them.
    case .decimal:
      return value.plainText.flatMap { Int64($0).map { .int($0) } ?? Double($0).map { .double($0) } } ?? .null
    case .composite(let fields):
      return .object(fields.sorted { $0.key < $1.key }.map { .init($0.key, self.value($0.value)) })
    default:
      let json = value.jsonValue(dates: .exact)
      // The JSON of a snapshot has no tags.
      guard case .object(let members) = json, let content = members.first?.value else { return json }
      return content
    }
  }
}
