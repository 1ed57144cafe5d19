import CDConsole
import CDModel
import CDRuntime

/// The JSON of a reference to an object of another store: `{"$otherStore": "Folder/p3"}`.
///
/// A row in a store has only the number of such an object, and a command opens only one store. So a dump has the number
/// too, and not the UUID of the other store.
struct OutsideForm {
  private static let tag = "$otherStore"
  /// The position in an ordered inverse, which the row's store contains.
  private static let position = "position"

  private let graph: EntityGraph

  init(_ graph: EntityGraph) { self.graph = graph }

  static func json(_ reference: OutsideReference) -> JSONValue {
    var members = [JSONValue.Member(tag, .string(text(reference)))]
    if let position = reference.inversePosition {
      members.append(JSONValue.Member(Self.position, .int(position)))
    }
    return .object(members)
  }

  static func text(_ reference: OutsideReference) -> String { "\(reference.entity)/p\(reference.number)" }

  /// Whether JSON has the form of such a reference, even if it is not a valid one.
  static func isReference(_ json: JSONValue) -> Bool { json[tag] != nil }

  /// Reads references to objects of another store. The URI of such an object is a reference too.
  ///
  /// - Throws: ``Failure`` if the JSON is not a reference that the relationship can have.
  func references(
    _ json: JSONValue, _ relationship: RelationshipDescription
  ) throws -> [OutsideReference] {
    switch json {
    case .null:
      if relationship.isToMany { throw Failure("takes a list of objects") }
      return []
    case .array(let elements):
      guard relationship.isToMany else { throw Failure("takes one object or null, not a list") }
      return try elements.map { try reference($0, relationship) }
    default:
      guard !relationship.isToMany else { throw Failure("takes a list of objects, not \(json.kindName)") }
      return [try reference(json, relationship)]
    }
  }

  private func reference(
    _ json: JSONValue, _ relationship: RelationshipDescription
  ) throws -> OutsideReference {
    guard let (entity, number) = Self.object(json) else {
      throw Failure(
        "leads to an object of another store; name it as {\"\(Self.tag)\": \"\(relationship.destination)/pN\"}, or by its URI"
      )
    }
    guard let root = graph.root(of: entity)?.name, root == graph.root(of: relationship.destination)?.name
    else {
      throw Failure(
        "'\(entity)/p\(number)' cannot be an object of '\(relationship.destination)', to which the relationship leads"
      )
    }
    var position: Int64?
    if case .int(let number)? = json[Self.position] { position = number }
    return OutsideReference(entity: entity, number: number, inversePosition: position)
  }

  private static func object(_ json: JSONValue) -> (entity: String, number: Int64)? {
    if case .string(let text) = json {
      return ManagedObjectID(uriText: text).map { ($0.entityName, $0.number) }
    }
    guard case .string(let text)? = json[tag] else { return nil }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].first == "p", let number = Int64(parts[1].dropFirst()), number > 0,
      number < .max
    else { return nil }
    return (String(parts[0]), number)
  }
}

/// The numbers of references to objects of other stores, by relationship, for the notes of a command.
struct OutsideCounts {
  private var counts: [String: Int] = [:]

  mutating func add(_ count: Int, _ entity: String, _ relationship: String) {
    if count > 0 { counts["\(entity).\(relationship)", default: 0] += count }
  }

  /// Lines that say to which relationships a condition applies.
  ///
  /// - Parameter remedy: The end of each line.
  func lines(_ remedy: String) -> [String] {
    counts.sorted { $0.key < $1.key }.map { path, count in
      "\(count) reference\(count == 1 ? " of '\(path)' leads to an object" : "s of '\(path)' lead to objects") of another store"
        + remedy
    }
  }
}
