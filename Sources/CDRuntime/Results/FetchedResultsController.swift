public import Observation

/// The objects of a request, in sections, for a list on a screen. The controller updates them after saves and reports
/// the differences.
///
/// ```swift
/// var request = FetchRequest<Book>(where: \.price < 20)
/// request.sortKeys = [SortKey("publisher.name"), SortKey("title")]
/// let results = try FetchedResultsController(request, sectionKeyPath: "publisher.name", in: context)
/// for section in results.sections {
///   print(section.value.attribute ?? .null)
///   for book in section.objects { print(" ", book.title) }
/// }
/// for await diff in results.diffs {
///   print(diff.deletions, diff.insertions, diff.moves, diff.updates)
/// }
/// ```
///
/// The results are fetched again after each save of the context, and each time that it learns of other contexts'
/// saves: they are then equal to the results of the request at that moment. Unsaved changes count whenever the
/// results are fetched, including by ``update()``: call it after changes that are not saved, and after their rollback or
/// undo. In a child context, call it also after changes and saves of the parent. A controller belongs to its context's
/// isolation, and keeps the context alive. SwiftUI and `withObservationTracking` can observe its results.
///
/// ## Topics
///
/// ### Creating a controller
/// - ``init(_:sectionKeyPath:in:)``
/// - ``context``
/// - ``request``
/// - ``sectionKeyPath``
///
/// ### Results
/// - ``sections``
/// - ``fetchedObjects``
/// - ``object(at:)``
/// - ``index(of:)``
/// - ``FetchedResultsSection``
/// - ``FetchedIndex``
///
/// ### Changes
/// - ``diffs``
/// - ``update()``
/// - ``error``
/// - ``FetchedResultsDiff``
public final class FetchedResultsController<Object: ManagedObject> {
  /// The context of the objects.
  public let context: ManagedObjectContext
  /// The request. A new request takes effect with the next ``update()`` or save.
  public var request: FetchRequest<Object>
  /// The key path whose values form the sections; nil for one section with all objects.
  public let sectionKeyPath: String?
  /// The sections, in the order of their first objects. There are no empty sections, except without a
  /// ``sectionKeyPath``: then there is always one section.
  public var sections: [FetchedResultsSection<Object>] {
    registrar.access(self, keyPath: \.sections)
    return current
  }
  /// The error of the last update; the results are those from before it. Nil if it succeeded.
  public var error: (any Error)? {
    registrar.access(self, keyPath: \.error)
    return failure
  }

  private let registrar = ObservationRegistrar()
  private var current: [FetchedResultsSection<Object>] = []
  private var failure: (any Error)?
  /// How often results have been shown. Observers are told before the results change, and may update them meanwhile.
  private var showCount = 0
  private var indices: [ManagedObjectID: FetchedIndex] = [:]
  /// The objects that had unsaved changes when the results were last fetched. Nothing reports it if a rollback or an undo
  /// takes these changes back.
  private var unsaved: Set<ManagedObjectID> = []
  /// The objects that had unsaved changes of the context's ancestors when the results were last fetched. It is a set of its
  /// own because an object can lose either kind of changes and keep the other.
  private var inherited: Set<ManagedObjectID> = []
  /// The versions of the objects when the results were last fetched, in a child context. Nothing reports the saves of the
  /// parent to the child.
  private var versions: [ManagedObjectID: Int64] = [:]
  /// The objects whose deletion was unsaved when the results were last fetched, in the context or in an ancestor. References
  /// to them read as nil.
  private var deleted: Set<ManagedObjectID> = []
  /// The changes that an update could not follow because it failed; nil if there are none. The next update follows them.
  private var missed: ObjectChanges?
  /// Whether an update for these changes is scheduled.
  private var isUpdateDue = false
  private var streams: [AsyncStream<FetchedResultsDiff>.Continuation] = []

  /// Fetches the objects of a request, and updates them from now on.
  ///
  /// If the request's order does not begin with the section key path, the key path is added in front.
  ///
  /// - Throws: The errors of ``ManagedObjectContext/fetch(_:)``, and ``FetchError/notAValue(entity:key:)`` for a
  ///   section key path that does not lead to an attribute.
  public init(
    _ request: FetchRequest<Object>, sectionKeyPath: String? = nil, in context: ManagedObjectContext
  ) throws {
    self.request = request
    self.sectionKeyPath = sectionKeyPath
    self.context = context
    try show(fetchSections())
    context.changeNotices.addObserver(self) { [weak self] changes in self?.follow(changes) }
  }

  deinit {
    context.changeNotices.removeObserver(ObjectIdentifier(self))
    for stream in streams { stream.finish() }
  }

  // MARK: Results

  /// All objects, in the order of the sections.
  public var fetchedObjects: [Object] { sections.flatMap(\.objects) }

  /// Returns the object at a position; nil if there is none.
  public func object(at index: FetchedIndex) -> Object? {
    guard sections.indices.contains(index.section),
      sections[index.section].objects.indices.contains(index.item)
    else { return nil }
    return sections[index.section].objects[index.item]
  }

  /// Returns the position of an object; nil if it is not in the results.
  public func index(of object: Object) -> FetchedIndex? {
    registrar.access(self, keyPath: \.sections)
    return indices[object.objectID]
  }

  // MARK: Changes

  /// The differences of each change of the results, from now on. Each access returns a new sequence, which ends with
  /// the controller. Differences that have not been read yet are buffered, because a list has to apply all of them.
  public var diffs: AsyncStream<FetchedResultsDiff> {
    let (stream, continuation) = AsyncStream<FetchedResultsDiff>.makeStream()
    streams.append(continuation)
    return stream
  }

  /// Fetches the results again, with the present unsaved changes, and returns the difference. ``diffs`` reports it
  /// too.
  ///
  /// - Throws: The errors of ``ManagedObjectContext/fetch(_:)``; the results are unchanged then.
  @discardableResult
  public func update() throws -> FetchedResultsDiff {
    try updateWithMissed(ObjectChanges(), isExplicit: true)
  }

  private func follow(_ changes: ObjectChanges) {
    do {
      // The changes are saved, whatever becomes of the task that has told of them. Nobody else updates the results later.
      try MatchBudget.run(isCancellable: false, isAnew: true) { _ = try updateWithMissed(changes) }
    } catch {
      setError(error)
      // A server's answer may have been awaited in vain.
      if error is CancellationError { followLater() }
    }
  }

  /// Updates the results for changes, and for those that an earlier update could not follow.
  private func updateWithMissed(
    _ changes: ObjectChanges, isExplicit: Bool = false
  ) throws -> FetchedResultsDiff {
    let changes = missed?.followed(by: changes) ?? changes
    missed = nil
    do {
      return try update(changes, isExplicit: isExplicit)
    } catch {
      // An observer may have missed others meanwhile.
      missed = missed.map { changes.followed(by: $0) } ?? (changes.isEmpty ? nil : changes)
      throw error
    }
  }

  /// Schedules another update for the time at which the context next notifies its observers.
  private func followLater() {
    if isUpdateDue { return }
    isUpdateDue = true
    context.changeNotices.schedule { [weak self] in
      guard let self else { return }
      isUpdateDue = false
      if missed != nil { follow(ObjectChanges()) }
    }
  }

  /// Sets the error, unless an observer of it updates the results.
  private func setError(_ error: (any Error)?) {
    let count = showCount
    registrar.willSet(self, keyPath: \.error)
    if showCount == count { failure = error }
    registrar.didSet(self, keyPath: \.error)
  }

  /// - Parameter isExplicit: Whether the caller asks for the unsaved changes since the last update, which nothing reports.
  @discardableResult
  private func update(_ changes: ObjectChanges, isExplicit: Bool = false) throws -> FetchedResultsDiff {
    let outdated = inheritedObjects(current)
    // Before the fetch, which may read the references again.
    let referrers = objectsOfOtherReferences(changes)
    var new = try fetchSections()
    var count = showCount
    if failure != nil { setError(nil) }
    if showCount != count {
      // An observer of the error has updated the results, which are newer than those of this call.
      new = current
      count = showCount
    }
    let (unsavedNow, inheritedNow) = (unsavedObjects(new), inheritedObjects(new))
    var touched = exchangedObjects(new)
    if isExplicit {
      touched.formUnion(unsaved.union(unsavedNow))
      touched.formUnion(inherited.union(inheritedNow))
    } else {
      touched.formUnion(unsaved.symmetricDifference(unsavedNow))
      touched.formUnion(inherited.symmetricDifference(inheritedNow))
    }
    // The fetch has taken over what a parent has saved.
    touched.formUnion(outdated.subtracting(inheritedNow))
    touched.formUnion(objectsOfOtherVersions(new))
    touched.formUnion(referrers)
    func difference(to new: [FetchedResultsSection<Object>]) -> FetchedResultsDiff {
      FetchedResultsDiff(from: current.map(\.shape), to: new.map(\.shape)) {
        touched.contains($0) || changes.updated.contains($0) || changes.refreshed.contains($0)
          || changes.inserted.contains($0)
      }
    }
    var diff = difference(to: new)
    guard !diff.isEmpty else {
      show(new)
      return diff
    }
    registrar.willSet(self, keyPath: \.sections)
    if showCount == count {
      show(new)
    } else {
      // An observer has updated the results, which are newer than those of this call. Its difference may lack values that
      // only this call knows to have changed.
      diff = difference(to: current)
    }
    // Before observers are told again, who may update the results: the order of the differences is that of the results.
    report(diff)
    registrar.didSet(self, keyPath: \.sections)
    if context.isReading { notifyAfterSnapshot() }
    return diff
  }

  private func report(_ diff: FetchedResultsDiff) {
    if diff.isEmpty { return }
    streams.removeAll { stream in
      if case .terminated = stream.yield(diff) { return true }
      return false
    }
  }

  /// Schedules another notification for the end of the snapshot. A tracked body that is reading the sections now is
  /// not observed before all of its reads are done.
  private func notifyAfterSnapshot() {
    context.changeNotices.schedule { [weak self] in
      guard let self else { return }
      registrar.withMutation(of: self, keyPath: \.sections) {}
    }
  }

  // MARK: Fetching

  private func fetchSections() throws -> [FetchedResultsSection<Object>] {
    var request = request
    guard let sectionKeyPath else {
      return [FetchedResultsSection(value: .attribute(.null), objects: try context.fetch(request))]
    }
    let check = FetchCheck(graph: context.model.graph, entity: request.entityName)
    guard case .attribute = try check.value(of: sectionKeyPath) else {
      throw FetchError.notAValue(entity: request.entityName, key: sectionKeyPath)
    }
    if request.sortKeys.first?.keyPath != sectionKeyPath {
      request.sortKeys.insert(SortKey(sectionKeyPath), at: 0)
    }
    let path = ValueExpression.keyPath(sectionKeyPath)
    let evaluator = PredicateEvaluator()
    var sections: [FetchedResultsSection<Object>] = []
    var numbers: [FetchedValue: Int] = [:]
    for object in try context.fetch(request) {
      let value: FetchedValue
      do {
        let failures = context.readFailures.count
        value = FetchRun.fetched(try evaluator.value(of: path, for: object)).identity
        // A path through an object that could not be read gives nil.
        try context.checkReads(since: failures)
      } catch {
        throw FetchError(error)
      }
      if let number = numbers[value] {
        sections[number].objects.append(object)
      } else {
        numbers[value] = sections.count
        sections.append(FetchedResultsSection(value: value, objects: [object]))
      }
    }
    return sections
  }

  private func show(_ sections: [FetchedResultsSection<Object>]) {
    showCount += 1
    current = sections
    unsaved = unsavedObjects(sections)
    inherited = inheritedObjects(sections)
    deleted = unsavedDeletions()
    noteVersions(sections)
    index()
  }

  private func ids(
    _ sections: [FetchedResultsSection<Object>], where isIncluded: (Object) -> Bool
  ) -> Set<ManagedObjectID> {
    var ids: Set<ManagedObjectID> = []
    for section in sections {
      for object in section.objects where isIncluded(object) { ids.insert(object.objectID) }
    }
    return ids
  }

  private func unsavedObjects(_ sections: [FetchedResultsSection<Object>]) -> Set<ManagedObjectID> {
    context.pending.isEmpty ? [] : ids(sections) { $0.isPending }
  }

  /// The objects with changes of the context's ancestors: unsaved ones, or those that the context has yet to take over.
  private func inheritedObjects(_ sections: [FetchedResultsSection<Object>]) -> Set<ManagedObjectID> {
    context.parent == nil ? [] : ids(sections) { $0.flags.contains(.hasParentChanges) }
  }

  private func noteVersions(_ sections: [FetchedResultsSection<Object>]) {
    if context.parent == nil { return }
    versions.removeAll(keepingCapacity: true)
    for section in sections {
      for object in section.objects { versions[object.objectID] = object.version }
    }
  }

  /// The objects that the parent, or another ancestor, has saved since the results were last fetched.
  private func objectsOfOtherVersions(_ new: [FetchedResultsSection<Object>]) -> Set<ManagedObjectID> {
    context.parent == nil ? [] : ids(new) { versions[$0.objectID, default: $0.version] != $0.version }
  }

  private func unsavedDeletions() -> Set<ManagedObjectID> {
    var deletions: Set<ManagedObjectID> = []
    var ancestor: ManagedObjectContext? = context
    while let owner = ancestor {
      for object in owner.pending where object.flags.contains(.deleted) { deletions.insert(object.objectID) }
      ancestor = owner.parent
    }
    return deletions
  }

  /// The objects with a reference that reads as nil because its object has been deleted since the results were last fetched,
  /// or no longer does because the deletion has been taken back. The deletion changes no reference without an inverse, and
  /// none that the inverse's rule leaves.
  private func objectsOfOtherReferences(_ changes: ObjectChanges) -> Set<ManagedObjectID> {
    let contested = deleted.symmetricDifference(unsavedDeletions())
    if contested.isEmpty, changes.deleted.isEmpty { return [] }
    var names = Set(contested.map(\.entityName))
    for group in changes.deleted.groups { names.insert(group.entityName) }
    let references = keptReferences(toEntities: names)
    if references.allSatisfy(\.isEmpty) { return [] }
    func isOther(_ object: ManagedObject, _ reference: (slot: Int, entities: [Int])) -> Bool {
      let key = object.referenceKey(reference.slot)
      guard key != 0 else { return false }
      return reference.entities.contains { entity in
        let id = context.registry.objectID(key, ofEntity: entity)
        return contested.contains(id) || changes.deleted.contains(id)
      }
    }
    return ids(current) { object in
      references[object.scope.plan.index].contains { isOther(object, $0) }
    }
  }

  /// The references that can lead to objects of some entities, and that the deletion of such an object leaves unchanged.
  ///
  /// They are the same for all objects of an entity, and most models have none.
  ///
  /// - Returns: The slots with the indexes of these entities, by the index of the entity that has the references.
  private func keptReferences(toEntities names: Set<String>) -> [[(slot: Int, entities: [Int])]] {
    let entities = context.model.entities
    return entities.map { plan in
      var references: [(slot: Int, entities: [Int])] = []
      for case let relationship? in plan.relationships {
        guard case .reference = relationship.storage, context.keepsDeletedObjects(relationship) else {
          continue
        }
        let destinations = entities[relationship.destination].subtree.filter {
          names.contains(entities[$0].name)
        }
        if !destinations.isEmpty { references.append((relationship.slot, destinations)) }
      }
      return references
    }
  }

  /// The objects of the results for whose rows the context has other instances than before: after a reset, and if another
  /// context has inserted a deleted row again.
  private func exchangedObjects(_ new: [FetchedResultsSection<Object>]) -> Set<ManagedObjectID> {
    ids(new) { object in
      guard let index = indices[object.objectID] else { return false }
      return current[index.section].objects[index.item] !== object
    }
  }

  private func index() {
    indices.removeAll(keepingCapacity: true)
    for (section, objects) in current.enumerated() {
      for (item, object) in objects.objects.enumerated() {
        indices[object.objectID] = FetchedIndex(section: section, item: item)
      }
    }
  }
}

extension FetchedResultsController: Observable {}

@available(*, unavailable)
extension FetchedResultsController: Sendable {}

/// The objects of a ``FetchedResultsController`` with the same value of its section key path.
///
/// ```swift
/// let results = try FetchedResultsController(FetchRequest<Book>(), sectionKeyPath: "language", in: context)
/// for section in results.sections { print(section.value.attribute ?? .null, section.objects.count) }
/// ```
public struct FetchedResultsSection<Object: ManagedObject> {
  /// The value that the objects share; nil in the only section of results without a section key path.
  public let value: FetchedValue
  /// The objects in the request's order.
  public fileprivate(set) var objects: [Object]

  fileprivate var shape: FetchedResultsDiff.Section {
    FetchedResultsDiff.Section(value: value, ids: objects.map(\.objectID))
  }
}

@available(*, unavailable)
extension FetchedResultsSection: Sendable {}
