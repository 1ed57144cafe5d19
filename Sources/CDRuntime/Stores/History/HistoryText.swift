#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The column `changes` of a save in `_cdgen_history`: a JSON object, entity name → type of change → ranges of keys.
///
/// Example: `{"ToDo":{"inserted":[[1,200],[205,205]],"deleted":[[3,3]]}}`. A range includes both bounds.
///
/// In addition, `"properties":{"due":[[7,9]],"title":true}` lists the updated objects for each changed property. `true`
/// means all updated objects, which is the most frequent case.
///
/// The identifier of the save is beside the entities: `"_save":{"id":"UUID"}`. The name of an entity never begins with
/// `_`. A save to several stores lists them there: `"stores":["UUID", …]`.
enum HistoryText {
  /// The identifier of a save. It is the same in all stores of a save to several stores.
  struct Mark {
    let save: UUID
    /// The stores of a save to several stores, or of an entry that completes such a save; empty for a single store.
    let stores: [UUID]

    static let key = "_save"

    init(save: UUID, stores: [UUID]) {
      self.save = save
      self.stores = stores
    }

    /// Returns nil if the text has no readable mark.
    init?(_ text: String) {
      guard text.contains(Self.key), let mark = (try? JSONValue(parsing: text))?[Self.key] else { return nil }
      self.init(mark)
    }

    @_optimize(none)
    init?(_ json: JSONValue) {
      guard case .string(let id)? = json["id"], let save = UUID(uuidString: id) else { return nil }
      let stores: [JSONValue]
      switch json["stores"] {
      case .array(let several)?: stores = several
      case nil: stores = []
      default: return nil
      }
      let ids = stores.compactMap { store in
        if case .string(let id) = store { return UUID(uuidString: id) }
        return nil
      }
      guard ids.count == stores.count else { return nil }
      self.init(save: save, stores: ids)
    }

    @_optimize(none)
    var json: JSONValue {
      var members = [JSONValue.Member("id", .string(save.uuidString))]
      if !stores.isEmpty {
        members.append(JSONValue.Member("stores", .array(stores.map { .string($0.uuidString) })))
      }
      return .object(members)
    }
  }

  /// The key, within an entity, of the changed properties.
  static let properties = "properties"

  /// Returns the updated objects of an entity for each changed property.
  static func properties(of entity: JSONValue) -> [(name: String, keys: [ClosedRange<ObjectKey>])] {
    guard case .object(let members)? = entity[properties] else { return [] }
    return members.map { ($0.key, ranges($0.value == .bool(true) ? entity["updated"] : $0.value)) }
  }

  /// Returns the entities whose objects have changed, with the keys of the updated ones; none if this release cannot read
  /// the text.
  @_optimize(none)
  static func entities(ofChanges text: String) -> [(name: String, updated: [ClosedRange<ObjectKey>])] {
    guard case .object(let members)? = try? JSONValue(parsing: text) else { return [] }
    return members.filter { $0.key != Mark.key }.map { ($0.key, ranges($0.value["updated"])) }
  }

  /// Returns whether this release can read the complete text. The entities may be those of another version.
  @_optimize(none)
  static func isReadable(_ text: String) -> Bool {
    guard case .object(let entities)? = try? JSONValue(parsing: text) else { return false }
    return entities.allSatisfy { entity in
      if entity.key == Mark.key { return Mark(entity.value) != nil }
      guard case .object(let kinds) = entity.value else { return false }
      return kinds.allSatisfy { kind in
        guard kind.key == properties else { return isReadable(kind.value) }
        guard case .object(let properties) = kind.value else { return false }
        return properties.allSatisfy { $0.value == .bool(true) || isReadable($0.value) }
      }
    }
  }

  private static func isReadable(_ keys: JSONValue) -> Bool {
    guard case .array(let pairs) = keys else { return false }
    return ranges(keys).count == pairs.count
  }

  /// Returns the ranges of one type of change; without the ranges that this release cannot read.
  static func ranges(_ json: JSONValue?) -> [ClosedRange<ObjectKey>] {
    guard case .array(let pairs)? = json else { return [] }
    return pairs.compactMap { pair in
      guard case .array(let bounds) = pair, bounds.count == 2, case .int(let lower) = bounds[0],
        case .int(let upper) = bounds[1], lower > 0, lower <= upper
      else { return nil }
      return lower...upper
    }
  }

  static func ranges(_ keys: [ObjectKey]) -> [JSONValue] {
    var all = KeyRanges()
    for key in keys { all.append(key) }
    return KeyRanges.normalized(all.ranges).map { .array([.int($0.lowerBound), .int($0.upperBound)]) }
  }

  /// Returns the text for the changes of a store's objects; nil if there are none.
  ///
  /// - Parameter properties: The updated objects by entity and changed property.
  @_optimize(none)
  static func text(
    _ changes: ObjectChanges, of storeID: UUID, _ mark: Mark,
    properties: [String: [(name: String, keys: [ClosedRange<ObjectKey>])]]
  ) -> String? {
    var entities: [String: [(kind: String, keys: [ClosedRange<ObjectKey>])]] = [:]
    for (kind, ids) in [
      ("deleted", changes.deleted), ("inserted", changes.inserted), ("updated", changes.updated),
    ] {
      for group in ids.groups where group.storeID == storeID {
        entities[group.entityName, default: []].append((kind, group.keys))
      }
    }
    guard !entities.isEmpty else { return nil }
    // A text may have a range for every second row of a table. So this builds neither a JSON tree nor a string for each
    // range.
    var text = Array("{".utf8)
    text += (JSONValue.string(Mark.key).canonicalText + ":" + mark.json.canonicalText).utf8
    func append(
      _ lists: [(name: String, keys: [ClosedRange<ObjectKey>])], all: [ClosedRange<ObjectKey>]? = nil
    ) {
      for (number, list) in lists.enumerated() {
        text += ((number > 0 ? "," : "") + JSONValue.string(list.name).canonicalText + ":").utf8
        if list.keys == all {
          text += "true".utf8
          continue
        }
        text.append(UInt8(ascii: "["))
        Self.append(list.keys, to: &text)
        text.append(UInt8(ascii: "]"))
      }
    }
    for (name, kinds) in entities.orderedByKey() {
      text += ("," + JSONValue.string(name).canonicalText + ":{").utf8
      append(kinds.map { ($0.kind, $0.keys) })
      if let changed = properties[name], let updated = kinds.last, updated.kind == "updated" {
        text += (",\"" + Self.properties + "\":{").utf8
        append(changed.ordered { $0.name < $1.name }, all: updated.keys)
        text.append(UInt8(ascii: "}"))
      }
      text.append(UInt8(ascii: "}"))
    }
    text.append(UInt8(ascii: "}"))
    return String(decoding: text, as: UTF8.self)
  }

  private static func append(_ ranges: [ClosedRange<ObjectKey>], to text: inout [UInt8]) {
    // Two numbers of at most 19 digits, written from their last digits.
    let longest = 2 * 20 + 4
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: longest) { buffer in
      func write(_ key: ObjectKey, before index: inout Int) {
        var rest = key.magnitude
        repeat {
          index -= 1
          buffer[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
          rest /= 10
        } while rest > 0
        if key < 0 {
          index -= 1
          buffer[index] = UInt8(ascii: "-")
        }
      }
      for (number, range) in ranges.enumerated() {
        var index = longest - 1
        buffer[index] = UInt8(ascii: "]")
        write(range.upperBound, before: &index)
        index -= 1
        buffer[index] = UInt8(ascii: ",")
        write(range.lowerBound, before: &index)
        index -= 1
        buffer[index] = UInt8(ascii: "[")
        if number > 0 {
          index -= 1
          buffer[index] = UInt8(ascii: ",")
        }
        text.append(contentsOf: UnsafeMutableBufferPointer(rebasing: buffer[index...]))
      }
    }
  }
}
