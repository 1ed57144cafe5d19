#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Identifiers of many objects, each once: by store, entity and the order of insertion.
///
/// Neighbours are kept as one range, so that a million new objects take no more memory than one.
///
/// ```swift
/// let result = try context.execute(BatchDeleteRequest<Book>(where: \.price > 100))
/// for id in result.changes.deleted.prefix(10) { print(id.uriRepresentation) }
/// if result.changes.deleted.contains(book.objectID) { print("the book is gone") }
/// ```
public struct ManagedObjectIDs: RandomAccessCollection, Hashable, Sendable {
  /// Neighbouring keys of one entity.
  struct Group: Hashable, Sendable {
    let storeID: UUID
    let entityName: String
    var keys: ClosedRange<ObjectKey>
    /// How many identifiers come before.
    var start = 0
  }

  private(set) var groups: [Group] = []

  /// The count of identifiers.
  public private(set) var count = 0

  /// No identifiers.
  public init() {}

  /// Some identifiers.
  public init(_ ids: some Sequence<ManagedObjectID>) {
    self.init(
      ranges: ids.map { Group(storeID: $0.storeID, entityName: $0.entityName, keys: $0.key...$0.key) })
  }

  /// Ranges in any order, which may touch or overlap. What a file says may be of any length: what no index reaches is
  /// left out.
  init(ranges: [Group]) {
    guard !ranges.isEmpty else { return }
    for next in ranges.sorted(by: Self.precedes) {
      if let last = groups.last, last.storeID == next.storeID, last.entityName == next.entityName,
        next.keys.lowerBound <= last.keys.upperBound || next.keys.lowerBound - 1 == last.keys.upperBound
      {
        let upper = Swift.max(last.keys.upperBound, next.keys.upperBound)
        groups[groups.count - 1].keys = last.keys.lowerBound...upper
      } else {
        groups.append(next)
      }
    }
    for place in groups.indices {
      groups[place].start = count
      let (length, isTooLong) = groups[place].keys.upperBound
        .subtractingReportingOverflow(groups[place].keys.lowerBound)
      let (end, isBeyond) = count.addingReportingOverflow(Int(length))
      guard !isTooLong, !isBeyond, end < Int.max else {
        groups.removeSubrange(place...)
        return
      }
      count = end + 1
    }
  }

  private static func precedes(_ left: Group, _ right: Group) -> Bool {
    if left.storeID != right.storeID { return left.storeID.uuidString < right.storeID.uuidString }
    if left.entityName != right.entityName { return left.entityName < right.entityName }
    return left.keys.lowerBound < right.keys.lowerBound
  }

  /// 0.
  public var startIndex: Int { 0 }
  /// The count.
  public var endIndex: Int { count }

  /// The identifier at a place.
  public subscript(position: Int) -> ManagedObjectID {
    precondition(position >= 0 && position < count, "no identifier at \(position)")
    var low = 0
    var high = groups.count - 1
    while low < high {
      let middle = (low + high + 1) / 2
      if groups[middle].start <= position { low = middle } else { high = middle - 1 }
    }
    let group = groups[low]
    return ManagedObjectID(
      storeID: group.storeID, entityName: group.entityName,
      key: group.keys.lowerBound + ObjectKey(position - group.start))
  }

  /// Whether an identifier is one of them.
  public func contains(_ id: ManagedObjectID) -> Bool {
    let wanted = Group(storeID: id.storeID, entityName: id.entityName, keys: id.key...id.key)
    var low = 0
    var high = groups.count
    while low < high {
      let middle = (low + high) / 2
      if Self.precedes(wanted, groups[middle]) { high = middle } else { low = middle + 1 }
    }
    guard low > 0 else { return false }
    let group = groups[low - 1]
    return group.storeID == id.storeID && group.entityName == id.entityName && group.keys.contains(id.key)
  }

  /// These and others.
  public func union(_ other: ManagedObjectIDs) -> ManagedObjectIDs {
    if other.isEmpty { return self }
    return isEmpty ? other : ManagedObjectIDs(ranges: groups + other.groups)
  }

  /// These without others.
  public func subtracting(_ other: ManagedObjectIDs) -> ManagedObjectIDs {
    if other.isEmpty || isEmpty { return self }
    var left: [Group] = []
    var place = 0
    for group in groups {
      var rest: ClosedRange<ObjectKey>? = group.keys
      func isBefore(_ taken: Group) -> Bool {
        if taken.storeID == group.storeID, taken.entityName == group.entityName {
          return taken.keys.upperBound < group.keys.lowerBound
        }
        return Self.precedes(taken, group)
      }
      while place < other.groups.count, isBefore(other.groups[place]) { place += 1 }
      var next = place
      while let keys = rest, next < other.groups.count {
        let taken = other.groups[next]
        guard taken.storeID == group.storeID, taken.entityName == group.entityName,
          taken.keys.lowerBound <= keys.upperBound
        else { break }
        if keys.lowerBound < taken.keys.lowerBound {
          left.append(
            Group(
              storeID: group.storeID, entityName: group.entityName,
              keys: keys.lowerBound...taken.keys.lowerBound - 1))
        }
        rest = taken.keys.upperBound < keys.upperBound ? taken.keys.upperBound + 1...keys.upperBound : nil
        next += 1
      }
      if let rest {
        left.append(Group(storeID: group.storeID, entityName: group.entityName, keys: rest))
      }
    }
    return ManagedObjectIDs(ranges: left)
  }
}

extension ManagedObjectIDs: CustomStringConvertible {
  /// The entities and their keys, without the stores.
  public var description: String {
    let texts = groups.map { group in
      group.keys.count == 1
        ? "\(group.entityName)/p\(group.keys.lowerBound)"
        : "\(group.entityName)/p\(group.keys.lowerBound)…p\(group.keys.upperBound)"
    }
    return "[\(texts.joined(separator: ", "))]"
  }
}
