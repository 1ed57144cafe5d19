/// A place in the results of a ``FetchedResultsController``.
///
/// ```swift
/// let results = try FetchedResultsController(FetchRequest<Book>(), in: context)
/// let first = results.object(at: FetchedIndex(section: 0, item: 0))
/// ```
public struct FetchedIndex: Hashable, Comparable, Sendable {
  /// The number of the section, from 0.
  public var section: Int
  /// The number of the object in its section, from 0.
  public var item: Int

  /// A place by its numbers.
  public init(section: Int, item: Int) {
    self.section = section
    self.item = item
  }

  /// By sections, and in a section by items.
  public static func < (left: FetchedIndex, right: FetchedIndex) -> Bool {
    (left.section, left.item) < (right.section, right.item)
  }
}

/// What leads from the results of a ``FetchedResultsController`` to those after a change.
///
/// A list that does the following has the new results: it takes away what ``deletions`` and the beginnings of ``moves``
/// name, and then ``deletedSections``, all by the old places; it makes ``insertedSections``, and puts in what
/// ``insertions`` and the ends of ``moves`` name in rising order, all by the new places; and it shows ``updates`` anew.
///
/// ```swift
/// let results = try FetchedResultsController(FetchRequest<Book>(), in: context)
/// book.title = "Walden"
/// let diff = try results.update()
/// for index in diff.updates { print(results.object(at: index)?.title ?? "") }
/// ```
public struct FetchedResultsDiff: Hashable, Sendable {
  /// An object that is still there and stands elsewhere.
  public struct Move: Hashable, Sendable {
    /// The old place.
    public let from: FetchedIndex
    /// The new place.
    public let to: FetchedIndex
  }

  /// Old numbers of sections that are gone, or stand elsewhere.
  public let deletedSections: [Int]
  /// New numbers of sections that are new, or stand elsewhere.
  public let insertedSections: [Int]
  /// Old places of objects that are gone.
  public let deletions: [FetchedIndex]
  /// New places of objects that are new.
  public let insertions: [FetchedIndex]
  /// Objects that stand elsewhere, as few as there can be in each section.
  public let moves: [Move]
  /// New places of objects that were there before and have other values.
  public let updates: [FetchedIndex]

  /// Whether nothing is different.
  public var isEmpty: Bool {
    deletedSections.isEmpty && insertedSections.isEmpty && deletions.isEmpty && insertions.isEmpty
      && moves.isEmpty && updates.isEmpty
  }

  /// A section without its objects.
  struct Section {
    let value: FetchedValue
    let ids: [ManagedObjectID]
  }

  init(from old: [Section], to new: [Section], isUpdated: (ManagedObjectID) -> Bool) {
    // Sections that keep their order among each other stay.
    let oldNumbers = Dictionary(
      old.enumerated().map { ($0.element.value, $0.offset) }, uniquingKeysWith: { first, _ in first })
    let common = new.indices.filter { oldNumbers[new[$0].value] != nil }
    let risen = Positions.longestRise(common.map { oldNumbers[new[$0].value].map { Int64($0) + 1 } })
    var oldSections: [Int: Int] = [:]
    for place in risen {
      let number = common[place]
      oldSections[number] = oldNumbers[new[number].value]
    }
    let kept = Set(oldSections.values)
    deletedSections = old.indices.filter { !kept.contains($0) }
    insertedSections = new.indices.filter { oldSections[$0] == nil }

    var oldPlaces: [ManagedObjectID: FetchedIndex] = [:]
    for (section, content) in old.enumerated() {
      for (item, id) in content.ids.enumerated() {
        oldPlaces[id] = FetchedIndex(section: section, item: item)
      }
    }
    var insertions: [FetchedIndex] = []
    var moves: [Move] = []
    var updates: [FetchedIndex] = []
    for (section, content) in new.enumerated() {
      // In a section, objects that keep their order among each other stay.
      let before = content.ids.map { id -> Int64? in
        guard let place = oldPlaces[id], place.section == oldSections[section] else { return nil }
        return Int64(place.item) + 1
      }
      let staying = Positions.longestRise(before)
      for (item, id) in content.ids.enumerated() {
        let place = FetchedIndex(section: section, item: item)
        guard let from = oldPlaces.removeValue(forKey: id) else {
          insertions.append(place)
          continue
        }
        if !staying.contains(item) { moves.append(Move(from: from, to: place)) }
        if isUpdated(id) { updates.append(place) }
      }
    }
    deletions = oldPlaces.values.sorted()
    self.insertions = insertions
    self.moves = moves
    self.updates = updates
  }
}
