#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A set of object identifiers, ordered by store, entity and the order of insertion.
///
/// Consecutive keys are stored as one range, so that a million new objects need no more memory than one.
///
/// ```swift
/// let result = try context.execute(BatchDeleteRequest<Book>(where: \.price > 100))
/// for id in result.changes.deleted.prefix(10) { print(id.uriRepresentation) }
/// if result.changes.deleted.contains(book.objectID) { print("the book is gone") }
/// ```
public struct ManagedObjectIDs: RandomAccessCollection, Hashable, Sendable {
  /// The keys of one entity's objects in one store.
  struct Group: Hashable, Sendable {
    let storeID: UUID
    let entityName: String
    /// In ascending order, with a gap between two ranges.
    fileprivate(set) var keys: [ClosedRange<ObjectKey>]
    /// The number of identifiers before each range.
    fileprivate var starts: [Int] = []

    /// - Parameter keys: Ranges in any order. They may touch or overlap.
    init(storeID: UUID, entityName: String, keys: [ClosedRange<ObjectKey>]) {
      self.storeID = storeID
      self.entityName = entityName
      self.keys = KeyRanges.normalized(keys)
    }

    fileprivate func isSameGroup(_ other: Group) -> Bool {
      storeID == other.storeID && entityName == other.entityName
    }
  }

  private(set) var groups: [Group] = []

  /// The number of identifiers.
  public private(set) var count = 0

  /// Creates an empty set.
  public init() {}

  /// Creates a set of identifiers.
  public init(_ ids: some Sequence<ManagedObjectID>) {
    var found: [(first: ManagedObjectID, keys: KeyRanges)] = []
    var last = 0
    for id in ids {
      if last >= found.count || !Self.isSameGroup(found[last].first, id) {
        last = found.firstIndex { Self.isSameGroup($0.first, id) } ?? found.count
        if last == found.count { found.append((id, KeyRanges())) }
      }
      found[last].keys.append(id.key)
    }
    self.init(
      groups: found.map {
        Group(storeID: $0.first.storeID, entityName: $0.first.entityName, keys: $0.keys.ranges)
      })
  }

  private static func isSameGroup(_ left: ManagedObjectID, _ right: ManagedObjectID) -> Bool {
    left.entityName == right.entityName && left.storeID == right.storeID
  }

  /// Creates a set from groups in any order. Several groups may be of the same entity. Ranges from a file can be longer
  /// than any index; identifiers beyond `Int.max` are left out.
  init(groups: [Group]) {
    for next in groups.sorted(by: Self.precedes) where !next.keys.isEmpty {
      if let last = self.groups.last, last.isSameGroup(next) {
        self.groups[self.groups.count - 1] = Group(
          storeID: next.storeID, entityName: next.entityName, keys: last.keys + next.keys)
      } else {
        self.groups.append(next)
      }
    }
    for index in self.groups.indices {
      guard reachesEnd(ofGroup: index) else {
        self.groups.removeSubrange((self.groups[index].keys.isEmpty ? index : index + 1)...)
        return
      }
    }
  }

  /// Counts the identifiers of a group.
  ///
  /// - Returns: Whether all identifiers have an index. Otherwise, the others have been removed.
  private mutating func reachesEnd(ofGroup index: Int) -> Bool {
    var starts: [Int] = []
    starts.reserveCapacity(groups[index].keys.count)
    defer { groups[index].starts = starts }
    for keys in groups[index].keys {
      let (length, isTooLong) = keys.upperBound.subtractingReportingOverflow(keys.lowerBound)
      let (end, isBeyond) = count.addingReportingOverflow(Int(length))
      guard !isTooLong, !isBeyond, end < Int.max else {
        groups[index].keys.removeSubrange(starts.count...)
        return false
      }
      starts.append(count)
      count = end + 1
    }
    return true
  }

  private static func precedes(_ left: Group, _ right: Group) -> Bool {
    if left.storeID != right.storeID { return left.storeID.uuidString < right.storeID.uuidString }
    return left.entityName < right.entityName
  }

  /// 0.
  public var startIndex: Int { 0 }
  /// The number of identifiers.
  public var endIndex: Int { count }

  /// The identifier at an index.
  public subscript(position: Int) -> ManagedObjectID {
    // An invalid index is an error of the caller, as in an array. Data cannot cause it.
    precondition(position >= 0 && position < count, "no identifier at \(position)")
    let group = groups[Self.last(of: groups.count) { groups[$0].starts[0] <= position }]
    let index = Self.last(of: group.keys.count) { group.starts[$0] <= position }
    return ManagedObjectID(
      storeID: group.storeID, entityName: group.entityName,
      key: group.keys[index].lowerBound + ObjectKey(position - group.starts[index]))
  }

  /// Returns the last index for which a condition is true. The condition must be true for the first index and for all
  /// indexes up to the result.
  private static func last(of count: Int, _ isTrue: (Int) -> Bool) -> Int {
    var low = 0
    var high = count - 1
    while low < high {
      let middle = (low + high + 1) / 2
      if isTrue(middle) { low = middle } else { high = middle - 1 }
    }
    return low
  }

  /// Returns whether the set contains an identifier.
  public func contains(_ id: ManagedObjectID) -> Bool {
    guard let group = groups.first(where: { $0.storeID == id.storeID && $0.entityName == id.entityName })
    else { return false }
    return group.keys[Self.last(of: group.keys.count) { group.keys[$0].lowerBound <= id.key }].contains(
      id.key)
  }

  /// Returns the identifiers of both sets.
  public func union(_ other: ManagedObjectIDs) -> ManagedObjectIDs {
    if other.isEmpty { return self }
    return isEmpty ? other : ManagedObjectIDs(groups: groups + other.groups)
  }

  /// Returns the identifiers that are not in the other set.
  public func subtracting(_ other: ManagedObjectIDs) -> ManagedObjectIDs {
    if other.isEmpty || isEmpty { return self }
    return ManagedObjectIDs(
      groups: groups.map { group in
        guard let taken = other.groups.first(where: group.isSameGroup) else { return group }
        return Group(
          storeID: group.storeID, entityName: group.entityName,
          keys: KeyRanges.subtracting(taken.keys, from: group.keys))
      })
  }
}

extension ManagedObjectIDs: CustomStringConvertible {
  /// The entities and their keys, without the stores.
  @_optimize(none)
  public var description: String {
    let texts = groups.flatMap { group in
      group.keys.map { keys in
        keys.lowerBound == keys.upperBound
          ? "\(group.entityName)/p\(keys.lowerBound)"
          : "\(group.entityName)/p\(keys.lowerBound)…p\(keys.upperBound)"
      }
    }
    return "[\(texts.joined(separator: ", "))]"
  }
}
