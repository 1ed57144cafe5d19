import CDModel

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A store's record of where its objects were inserted first, as ranges of keys. Global identifiers are derived from it.
///
/// By default an object was inserted in this store, into its present table, with its present key. Only replicas and
/// migrations make this untrue, so only they write records. Saves write none.
package struct InsertionOrigins: Hashable, Sendable {
  /// A range of keys of a table. The objects were inserted with keys of a range of the same length.
  struct Interval: Hashable, Sendable {
    let keys: ClosedRange<ObjectKey>
    /// The global identifier of the object with the lowest key.
    let first: GlobalObjectID

    /// The keys with which the objects were inserted.
    var firstKeys: ClosedRange<ObjectKey> { first.key...first.key + (keys.upperBound - keys.lowerBound) }

    /// - Parameter part: A part of the keys.
    func clamped(to part: ClosedRange<ObjectKey>) -> Interval {
      let part = keys.clamped(to: part)
      let key = first.key + (part.lowerBound - keys.lowerBound)
      return Interval(
        keys: part, first: GlobalObjectID(storeID: first.storeID, entityName: first.entityName, key: key))
    }
  }

  /// The intervals of each table by its root entity, in ascending order and without overlaps.
  struct Tables: Hashable, Sendable {
    /// The store in which the objects with all other keys were inserted.
    let storeID: UUID
    var intervals: [String: [Interval]] = [:]
  }

  /// The meaning of entity names and keys in the history between two migrations.
  struct Period: Hashable, Sendable {
    /// The root entity of each entity.
    let roots: [String: String]
    let tables: Tables

    /// Divides keys of an entity into intervals. Returns none for an unknown entity.
    func intervals(of keys: [ClosedRange<ObjectKey>], _ entityName: String) -> [Interval] {
      guard let root = roots[entityName] else { return [] }
      return keys.flatMap { tables.intervals(of: $0, in: root) }
    }
  }

  /// A period that a migration ended.
  struct Past: Hashable, Sendable {
    /// The number of the last history entry of the period.
    let lastSave: Int64
    let period: Period
  }

  var tables: Tables
  /// The past periods, oldest first.
  var past: [Past] = []
  /// The next keys of root entities that the model no longer has. If the model gets a root entity with such a name again,
  /// its keys start there, so that no identifier is used twice.
  var formerKeys: [String: ObjectKey] = [:]

  /// The key of the record's entry in the metadata.
  package static let metadataKey = "births"

  /// An empty record: all objects were inserted in this store.
  package init(storeID: UUID) { tables = Tables(storeID: storeID) }
}

extension InsertionOrigins.Tables {
  /// Divides keys of a table into intervals, in ascending order.
  @_optimize(none)
  func intervals(of keys: ClosedRange<ObjectKey>, in root: String) -> [InsertionOrigins.Interval] {
    var result: [InsertionOrigins.Interval] = []
    var next = keys.lowerBound
    func addOwn(upTo last: ObjectKey) {
      guard next <= last else { return }
      result.append(
        InsertionOrigins.Interval(
          keys: next...last, first: GlobalObjectID(storeID: storeID, entityName: root, key: next)))
    }
    let list = intervals[root] ?? []
    for interval in list[Self.indexOfFirst(in: list, endingAfter: next)...] {
      guard interval.keys.lowerBound <= keys.upperBound else { break }
      addOwn(upTo: interval.keys.lowerBound - 1)
      result.append(interval.clamped(to: keys))
      if interval.keys.upperBound >= keys.upperBound { return result }
      next = interval.keys.upperBound + 1
    }
    addOwn(upTo: keys.upperBound)
    return result
  }

  private static func indexOfFirst(in list: [InsertionOrigins.Interval], endingAfter key: ObjectKey) -> Int {
    var (low, high) = (0, list.count)
    while low < high {
      let middle = (low + high) / 2
      if list[middle].keys.upperBound < key { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The present keys in a table of the objects that were inserted with an interval's first keys.
  @_optimize(none)
  func keys(of interval: InsertionOrigins.Interval, in root: String) -> [ClosedRange<ObjectKey>] {
    var result: [ClosedRange<ObjectKey>] = []
    for other in intervals[root] ?? []
    where other.first.storeID == interval.first.storeID
      && other.first.entityName == interval.first.entityName && other.firstKeys.overlaps(interval.firstKeys)
    {
      let common = other.firstKeys.clamped(to: interval.firstKeys)
      let lower = other.keys.lowerBound + (common.lowerBound - other.first.key)
      result.append(lower...lower + (common.upperBound - common.lowerBound))
    }
    if interval.first.storeID == storeID, interval.first.entityName == root {
      // Keys without a record are unchanged.
      result += intervals(of: interval.firstKeys, in: root).filter {
        $0.first == GlobalObjectID(storeID: storeID, entityName: root, key: $0.keys.lowerBound)
      }.map(\.keys)
    }
    return result
  }

  /// Whether the record of a table has objects that were inserted with an interval's first keys.
  func hasRecord(of interval: InsertionOrigins.Interval, in root: String) -> Bool {
    (intervals[root] ?? []).contains { other in
      other.first.storeID == interval.first.storeID && other.first.entityName == interval.first.entityName
        && other.firstKeys.overlaps(interval.firstKeys)
    }
  }

  /// The keys that the object of a global identifier may have, each with its table. At most one of them has a row, unless
  /// another program has changed the record.
  func keys(of id: GlobalObjectID, in roots: some Sequence<String>) -> [(root: String, key: ObjectKey)] {
    guard id.key > 0, id.key < .max else { return [] }
    let interval = InsertionOrigins.Interval(keys: id.key...id.key, first: id)
    return roots.flatMap { root in keys(of: interval, in: root).map { (root, $0.lowerBound) } }
  }

  /// Replaces the record of a table.
  ///
  /// - Parameter list: Intervals without overlaps, in any order.
  @_optimize(none)
  mutating func set(_ list: [InsertionOrigins.Interval], of root: String) {
    var result: [InsertionOrigins.Interval] = []
    for next in list.ordered(by: { $0.keys.lowerBound < $1.keys.lowerBound }) {
      let isPlain =
        next.first == GlobalObjectID(storeID: storeID, entityName: root, key: next.keys.lowerBound)
      if isPlain { continue }
      if let last = result.last, last.keys.upperBound + 1 == next.keys.lowerBound,
        last.first.storeID == next.first.storeID, last.first.entityName == next.first.entityName,
        last.firstKeys.upperBound + 1 == next.first.key
      {
        result[result.count - 1] = InsertionOrigins.Interval(
          keys: last.keys.lowerBound...next.keys.upperBound, first: last.first)
      } else {
        result.append(next)
      }
    }
    intervals[root] = result.isEmpty ? nil : result
  }
}

// The text of the record in the metadata.
extension InsertionOrigins {
  /// Whether the defaults hold for all objects and history entries.
  package var isEmpty: Bool { tables.intervals.isEmpty && past.isEmpty && formerKeys.isEmpty }

  /// The text of the record, which the metadata contain.
  @_optimize(none)
  package var text: String {
    func object(_ values: [String: JSONValue]) -> JSONValue {
      .object(values.orderedByKey().map { JSONValue.Member($0.key, $0.value) })
    }
    var members = [JSONValue.Member("tables", tables.json)]
    if !past.isEmpty {
      members.append(
        JSONValue.Member(
          "past",
          .array(
            past.map { past in
              .object([
                JSONValue.Member("lastSave", .int(past.lastSave)),
                JSONValue.Member("roots", object(past.period.roots.mapValues { .string($0) })),
                JSONValue.Member("store", .string(past.period.tables.storeID.uuidString)),
                JSONValue.Member("tables", past.period.tables.json),
              ])
            })))
    }
    if !formerKeys.isEmpty {
      members.append(JSONValue.Member("formerKeys", object(formerKeys.mapValues { .int($0) })))
    }
    return JSONValue.object(members).canonicalText
  }

  /// Reads the value of ``text``; nil for any other text.
  @_optimize(none)
  init?(_ text: String, storeID: UUID) {
    guard let json = try? JSONValue(parsing: text), case .object = json,
      let tables = json["tables"].flatMap({ Tables($0, storeID: storeID) })
    else { return nil }
    self.tables = tables
    if let json = json["past"] {
      guard case .array(let list) = json else { return nil }
      for each in list {
        guard let next = Past(each), next.lastSave > past.last?.lastSave ?? -1 else { return nil }
        past.append(next)
      }
    }
    if let json = json["formerKeys"] {
      guard case .object(let members) = json else { return nil }
      for member in members {
        guard case .int(let key) = member.value, key > 0, key < .max else { return nil }
        formerKeys[member.key] = key
      }
    }
  }
}

extension InsertionOrigins.Past {
  fileprivate init?(_ json: JSONValue) {
    guard case .int(let lastSave)? = json["lastSave"], case .string(let id)? = json["store"],
      let storeID = UUID(uuidString: id), case .object(let members)? = json["roots"],
      let tables = json["tables"].flatMap({ InsertionOrigins.Tables($0, storeID: storeID) })
    else { return nil }
    var roots: [String: String] = [:]
    for member in members {
      guard case .string(let root) = member.value else { return nil }
      roots[member.key] = root
    }
    self.init(
      lastSave: lastSave, period: InsertionOrigins.Period(roots: roots, tables: tables))
  }
}

extension InsertionOrigins.Tables {
  fileprivate var json: JSONValue {
    .object(
      intervals.orderedByKey().map { root, list in
        JSONValue.Member(root, .array(list.map(\.json)))
      })
  }

  fileprivate init?(_ json: JSONValue, storeID: UUID) {
    guard case .object(let members) = json else { return nil }
    self.storeID = storeID
    for member in members {
      guard case .array(let elements) = member.value else { return nil }
      let list = elements.compactMap(InsertionOrigins.Interval.init)
      guard list.count == elements.count,
        zip(list, list.dropFirst()).allSatisfy({ $0.keys.upperBound < $1.keys.lowerBound })
      else { return nil }
      intervals[member.key] = list
    }
  }
}

extension InsertionOrigins.Interval {
  fileprivate var json: JSONValue {
    .object([
      JSONValue.Member("first", .int(keys.lowerBound)), JSONValue.Member("last", .int(keys.upperBound)),
      JSONValue.Member("store", .string(first.storeID.uuidString)),
      JSONValue.Member("entity", .string(first.entityName)), JSONValue.Member("key", .int(first.key)),
    ])
  }

  fileprivate init?(_ json: JSONValue) {
    guard case .int(let lower)? = json["first"], case .int(let upper)? = json["last"],
      case .string(let store)? = json["store"], let storeID = UUID(uuidString: store),
      case .string(let entity)? = json["entity"], !entity.isEmpty, case .int(let key)? = json["key"],
      // Neither a key nor the one after it may overflow.
      lower > 0, lower <= upper, upper < .max, key > 0, key < .max - (upper - lower)
    else { return nil }
    self.init(
      keys: lower...upper, first: GlobalObjectID(storeID: storeID, entityName: entity, key: key))
  }
}

// The record in a store's file.
extension InsertionOrigins {
  /// Reads the record of a store from the metadata entry; a store without the entry has an empty record.
  ///
  /// - Throws: ``StoreError/damagedMetadata(_:key:)`` for a text that no release writes.
  package init(text: String?, storeID: UUID, url: URL) throws(StoreError) {
    guard let text else {
      self.init(storeID: storeID)
      return
    }
    guard let origins = InsertionOrigins(text, storeID: storeID) else {
      throw .damagedMetadata(url, key: Self.metadataKey)
    }
    self = origins
  }

  /// The record of a replica: the objects with all keys used so far were inserted in the original.
  ///
  /// - Parameter nextKeys: The next key of each root entity.
  func replica(_ storeID: UUID, nextKeys: [String: ObjectKey]) -> InsertionOrigins {
    var result = self
    result.tables = Tables(storeID: storeID)
    for (root, next) in nextKeys where next > 1 {
      result.tables.set(tables.intervals(of: 1...next - 1, in: root), of: root)
    }
    return result
  }
}

/// The records of stores as a session or a connection read them last. Only migrations change a record, and parsing it takes
/// much longer than reading its text.
package struct RecentOrigins {
  private var known: [UUID: (text: String, origins: InsertionOrigins)] = [:]

  package init() {}

  /// Returns the record of a store from its metadata entry, which is nil for an empty record.
  ///
  /// - Parameter url: The URL that errors show.
  /// - Throws: ``StoreError/damagedMetadata(_:key:)`` for a text that no release writes.
  package mutating func origins(
    of storeID: UUID, text: String?, url: URL
  ) throws(StoreError) -> InsertionOrigins {
    if let known = known[storeID], known.text == text { return known.origins }
    let origins = try InsertionOrigins(text: text, storeID: storeID, url: url)
    if let text { known[storeID] = (text, origins) }
    return origins
  }
}
