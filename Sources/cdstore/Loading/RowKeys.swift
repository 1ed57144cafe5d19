import CDConsole
import CDModel
import CDRuntime
import Foundation

/// The keys that the rows of a file get in a store, by their `"@id"`s.
///
/// An `"@id"` that is an object's URI keeps its number, or all numbers of an entity's hierarchy move by the same amount. So
/// a million of them need no memory. Every other `"@id"` is kept in memory.
struct RowKeys {
  /// A row's object in the store.
  struct Target: Hashable {
    let entity: String
    let key: Int64
  }

  /// The hierarchy of an entity, in the store that a URI names.
  private struct Source: Hashable {
    let storeID: UUID
    let root: String
  }

  private let graph: EntityGraph
  /// The numbers of URIs, by store and exact entity.
  private var numbers: [Source: [String: NumberRanges]] = [:]
  private var sources: [Source] = []
  /// The entity and the place of each other `"@id"`, by the root entity.
  private var texts: [String: [String: (entity: String, place: Int64)]] = [:]
  private var textCounts: [String: Int64] = [:]
  /// What is added to the numbers of URIs, and the first key for other rows. Known after ``assign(in:)``.
  private var offsets: [Source: Int64] = [:]
  private var firstTextKeys: [String: Int64] = [:]
  private var nextKeys: [String: Int64] = [:]
  private var storeIDs: [String: UUID] = [:]

  init(_ graph: EntityGraph) { self.graph = graph }

  private func root(_ entity: String) -> String { graph.root(of: entity)?.name ?? entity }

  // MARK: The rows of the file

  /// Notes a row.
  ///
  /// - Returns: False if another row has the same `"@id"`. For URIs, ``hasDuplicates`` says it at the end.
  mutating func note(_ id: String, of entity: String) -> Bool {
    let root = root(entity)
    guard let uri = ManagedObjectID(uriText: id) else {
      let place = textCounts[root, default: 0]
      guard texts[root, default: [:]].updateValue((entity, place), forKey: id) == nil else { return false }
      textCounts[root] = place + 1
      return true
    }
    let source = Source(storeID: uri.storeID, root: root)
    if numbers[source] == nil { sources.append(source) }
    numbers[source, default: [:]][entity, default: NumberRanges()].append(uri.number)
    return true
  }

  /// Whether two rows have the same URI. Call it after the last row.
  var hasDuplicates: Bool {
    mutating get {
      for source in sources {
        var all = NumberRanges()
        for entity in (numbers[source] ?? [:]).keys {
          numbers[source]?[entity]?.sort()
          if numbers[source]?[entity]?.overlaps == true { return true }
          for range in numbers[source]?[entity]?.ranges ?? [] { all.append(range) }
        }
        all.sort()
        if all.overlaps { return true }
      }
      return false
    }
  }

  // MARK: The keys in the store

  /// Chooses the keys in a store.
  mutating func assign(in objects: ObjectImport) throws {
    for root in Set(sources.map(\.root)).union(textCounts.keys) {
      var next = try objects.firstKey(ofEntity: root)
      storeIDs[root] = try objects.storeID(ofEntity: root)
      for source in sources where source.root == root {
        let ranges = (numbers[source] ?? [:]).values.flatMap(\.ranges)
        guard let first = ranges.map(\.lowerBound).min(), let last = ranges.map(\.upperBound).max() else {
          continue
        }
        let offset = first >= next ? 0 : next - first
        offsets[source] = offset
        let (sum, isTooLarge) = last.addingReportingOverflow(offset + 1)
        guard !isTooLarge, sum <= KeyRanges.largestKey else {
          throw Failure("the number p\(last) of '\(root)' is too large")
        }
        next = sum
      }
      firstTextKeys[root] = next
      nextKeys[root] = next + textCounts[root, default: 0]
    }
  }

  /// The key of a row with an `"@id"`.
  func key(of id: String, entity: String) -> Int64? {
    let root = root(entity)
    if let uri = ManagedObjectID(uriText: id) {
      return offsets[Source(storeID: uri.storeID, root: root)].map { uri.number + $0 }
    }
    guard let place = texts[root]?[id]?.place, let first = firstTextKeys[root] else { return nil }
    return first + place
  }

  /// The key of the next row without an `"@id"`.
  mutating func newKey(of entity: String, in objects: ObjectImport) throws -> Int64 {
    let root = root(entity)
    if firstTextKeys[root] == nil { firstTextKeys[root] = try objects.firstKey(ofEntity: root) }
    return repeatedKey(of: root) ?? 1
  }

  /// The key of the next row without an `"@id"`, in a pass over the file after ``newKey(of:in:)`` was called for it.
  mutating func repeatedKey(of entity: String) -> Int64? {
    let root = root(entity)
    guard let key = nextKeys[root] ?? firstTextKeys[root] else { return nil }
    nextKeys[root] = key + 1
    return key
  }

  /// Forgets the keys that rows without an `"@id"` got, so that another pass over the file gives them again.
  mutating func restart() {
    for (root, first) in firstTextKeys { nextKeys[root] = first + textCounts[root, default: 0] }
  }

  /// The object that an `"@id"` in a relationship means: a row of the file, or an object that the store has already.
  ///
  /// - Returns: Nil if there is no such object.
  func target(_ id: String, of destination: String, in objects: ObjectImport) throws -> Target? {
    let root = root(destination)
    guard let uri = ManagedObjectID(uriText: id) else {
      guard let found = texts[root]?[id], let first = firstTextKeys[root] else { return nil }
      return Target(entity: found.entity, key: first + found.place)
    }
    let source = Source(storeID: uri.storeID, root: root)
    if let offset = offsets[source],
      let entity = numbers[source]?.first(where: { $0.value.contains(uri.number) })?.key
    {
      return Target(entity: entity, key: uri.number + offset)
    }
    guard uri.storeID == (try? objects.storeID(ofEntity: root)),
      try objects.hasObject(uri.number, ofEntity: destination)
    else { return nil }
    return Target(entity: destination, key: uri.number)
  }

  /// Lines that say which URIs have changed, for the person who loads.
  var changedIdentifiers: [String] {
    sources.compactMap { source in
      guard let offset = offsets[source], let storeID = storeIDs[source.root],
        offset != 0 || storeID != source.storeID
      else { return nil }
      let number = offset == 0 ? "pN" : "p(N + \(offset))"
      return "cdgen://\(source.storeID)/\(source.root)/pN is now cdgen://\(storeID)/\(source.root)/\(number)"
    }.sorted()
  }
}

/// A set of numbers that has one range for consecutive ones.
private struct NumberRanges {
  private(set) var ranges: [ClosedRange<Int64>] = []
  /// Whether a number was appended twice. Known after ``sort()``.
  private(set) var overlaps = false

  mutating func append(_ number: Int64) {
    if let last = ranges.last, last.upperBound < .max, last.upperBound + 1 == number {
      ranges[ranges.count - 1] = last.lowerBound...number
    } else {
      ranges.append(number...number)
    }
  }

  mutating func append(_ range: ClosedRange<Int64>) { ranges.append(range) }

  mutating func sort() {
    ranges.sort { $0.lowerBound < $1.lowerBound }
    var joined: [ClosedRange<Int64>] = []
    for range in ranges {
      guard let last = joined.last else {
        joined.append(range)
        continue
      }
      if range.lowerBound <= last.upperBound { overlaps = true }
      if last.upperBound == .max || range.lowerBound <= last.upperBound + 1 {
        joined[joined.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    ranges = joined
  }

  func contains(_ number: Int64) -> Bool {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < number { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].contains(number)
  }
}
