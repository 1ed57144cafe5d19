/// The position of an object in the results of a ``FetchedResultsController``.
///
/// ```swift
/// let results = try FetchedResultsController(FetchRequest<Book>(), in: context)
/// let first = results.object(at: FetchedIndex(section: 0, item: 0))
/// ```
public struct FetchedIndex: Hashable, Comparable, Sendable {
  /// The index of the section, from 0.
  public var section: Int
  /// The index of the object in its section, from 0.
  public var item: Int

  /// Creates a position from its indices.
  public init(section: Int, item: Int) {
    self.section = section
    self.item = item
  }

  /// Compares sections first, and items within a section.
  public static func < (left: FetchedIndex, right: FetchedIndex) -> Bool {
    (left.section, left.item) < (right.section, right.item)
  }
}

/// The difference between the results of a ``FetchedResultsController`` before a change and after it.
///
/// To update a list, apply the difference in this order:
/// - Remove the items of ``deletions`` and the items at the starts of ``moves``, and then the sections of
///   ``deletedSections``, all at their old positions.
/// - Insert the sections of ``insertedSections``, and then the items of ``insertions`` and the items at the ends of
///   ``moves`` in ascending order, all at their new positions.
/// - Reload the items of ``updates``.
///
/// ```swift
/// let results = try FetchedResultsController(FetchRequest<Book>(), in: context)
/// book.title = "Walden"
/// let diff = try results.update()
/// for index in diff.updates { print(results.object(at: index)?.title ?? "") }
/// ```
public struct FetchedResultsDiff: Hashable, Sendable {
  /// An object that is still in the results, at another position.
  public struct Move: Hashable, Sendable {
    /// The old position.
    public let from: FetchedIndex
    /// The new position.
    public let to: FetchedIndex
  }

  /// The old indices of sections that were removed or moved.
  public let deletedSections: [Int]
  /// The new indices of sections that were added or moved.
  public let insertedSections: [Int]
  /// The old positions of objects that were removed.
  public let deletions: [FetchedIndex]
  /// The new positions of objects that were added.
  public let insertions: [FetchedIndex]
  /// Objects that were moved: in each section the fewest possible.
  public let moves: [Move]
  /// The new positions of objects that were in the results before and may have other values now, or for whose row the
  /// context has another instance now. A reference that is nil because its object has been deleted is another value.
  /// ``FetchedResultsController/update()`` counts all objects with unsaved changes.
  public let updates: [FetchedIndex]

  /// Whether there is no difference.
  public var isEmpty: Bool {
    deletedSections.isEmpty && insertedSections.isEmpty && deletions.isEmpty && insertions.isEmpty
      && moves.isEmpty && updates.isEmpty
  }

  /// A section as the identifiers of its objects.
  struct Section {
    let value: FetchedValue
    let ids: [ManagedObjectID]
  }

  @_optimize(none)
  init(from old: [Section], to new: [Section], isUpdated: (ManagedObjectID) -> Bool) {
    // Sections that keep their order relative to each other are not moved.
    let oldNumbers = Dictionary(
      old.enumerated().map { ($0.element.value, $0.offset) }, uniquingKeysWith: { first, _ in first })
    let common = new.indices.filter { oldNumbers[new[$0].value] != nil }
    let increasing = Positions.longestIncreasingRun(
      common.map { oldNumbers[new[$0].value].map { Int64($0) + 1 } })
    var oldSections: [Int: Int] = [:]
    for index in increasing {
      let number = common[index]
      oldSections[number] = oldNumbers[new[number].value]
    }
    let kept = Set(oldSections.values)
    deletedSections = old.indices.filter { !kept.contains($0) }
    insertedSections = new.indices.filter { oldSections[$0] == nil }

    var oldIndices: [ManagedObjectID: FetchedIndex] = [:]
    for (section, content) in old.enumerated() {
      for (item, id) in content.ids.enumerated() {
        oldIndices[id] = FetchedIndex(section: section, item: item)
      }
    }
    var insertions: [FetchedIndex] = []
    var moves: [Move] = []
    var updates: [FetchedIndex] = []
    for (section, content) in new.enumerated() {
      // Objects of a section that keep their order relative to each other are not moved.
      let before = content.ids.map { id -> Int64? in
        guard let index = oldIndices[id], index.section == oldSections[section] else { return nil }
        return Int64(index.item) + 1
      }
      let staying = Positions.longestIncreasingRun(before)
      for (item, id) in content.ids.enumerated() {
        let index = FetchedIndex(section: section, item: item)
        guard let from = oldIndices.removeValue(forKey: id) else {
          insertions.append(index)
          continue
        }
        if !staying.contains(item) { moves.append(Move(from: from, to: index)) }
        if isUpdated(id) { updates.append(index) }
      }
    }
    deletions = oldIndices.values.sorted()
    self.insertions = insertions
    self.moves = moves
    self.updates = updates
  }
}
