import CDModel

/// Keys that a migration had to change, because objects of two tables came into one: what is kept of them, so that
/// the identifiers of before go on to lead to their objects.
struct MovedKeys: Hashable, Sendable {
  /// The entity, as the version that the objects came to calls it.
  var entity: String
  /// Keys below this one are of before: every new one is greater.
  var below: Int64
  /// What is added to them.
  var offset: Int64

  /// The key in `_cdgen_metadata`.
  static let metadataKey = "movedKeys"

  /// Reads what ``text(_:)`` gave; empty for any other text.
  static func list(_ text: String) -> [MovedKeys] {
    guard case .array(let elements)? = try? JSONValue(parsing: text) else { return [] }
    return elements.compactMap { element in
      guard case .object(let members) = element else { return nil }
      var entity: String?
      var numbers: [String: Int64] = [:]
      for member in members {
        guard case .string(let text) = member.value else { continue }
        if member.key == "entity" { entity = text } else { numbers[member.key] = Int64(text) }
      }
      guard let entity, let below = numbers["below"], let offset = numbers["offset"] else { return nil }
      return MovedKeys(entity: entity, below: below, offset: offset)
    }
  }

  static func text(_ list: [MovedKeys]) -> String {
    JSONValue.array(
      list.map {
        .object([
          JSONValue.Member("entity", .string($0.entity)), JSONValue.Member("below", .string("\($0.below)")),
          JSONValue.Member("offset", .string("\($0.offset)")),
        ])
      }
    ).canonicalText
  }
}

extension PersistentStoreCoordinator {
  /// The identifier that an object has now, by one of any time before a migration.
  func currentID(of id: ManagedObjectID) -> ManagedObjectID? {
    guard let name = managedObjectModel.currentName(ofEntity: id.entityName),
      engine.stores[id.storeID] != nil
    else { return nil }
    var text: String?
    do {
      // No other engine migrates, so that its keys stay.
      let database = engine as? SQLiteDatabase
      text = try database?.writer.use { connection -> String? in
        guard let stores = database?.attached else { return nil }
        guard let store = stores[id.storeID] else { return nil }
        let statement = try connection.statement(
          "SELECT value FROM \(stores.schema(of: store)).\"_cdgen_metadata\" "
            + "WHERE key = \(SQLite.literal(MovedKeys.metadataKey))")
        defer { statement.reset() }
        return try statement.step() ? statement.string(0) : nil
      }
    } catch {
      // Without the list the key may be another object's now.
      return nil
    }
    var key = id.key
    if let text {
      let moved = MovedKeys.list(text).filter {
        key < $0.below && managedObjectModel.currentName(ofEntity: $0.entity) == name
      }
      key += moved.min { $0.below < $1.below }?.offset ?? 0
    }
    return ManagedObjectID(storeID: id.storeID, entityName: name, key: key)
  }
}
