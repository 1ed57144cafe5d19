public import Observation

/// The objects of a request, in sections, which follow what is saved and tell what that changes: what a list on a screen
/// needs.
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
/// The results are fetched anew after each save of the context, and each time that it learns of what others have saved:
/// then they are what the same request gives at that moment. Unsaved changes count when that happens, and whenever
/// ``update()`` asks for it. A controller belongs to its context's isolation, and keeps the context alive. SwiftUI and
/// `withObservationTracking` follow its results.
///
/// ## Topics
///
/// ### Making one
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
  /// The context whose objects they are.
  public let context: ManagedObjectContext
  /// What is fetched. A new request counts from the next ``update()`` on, or the next save.
  public var request: FetchRequest<Object>
  /// The key path whose values make the sections; nil for one section of all.
  public let sectionKeyPath: String?
  /// The sections in the order of their first objects. There is none without an object, except where there is no
  /// ``sectionKeyPath``: then there is one in any case.
  public var sections: [FetchedResultsSection<Object>] {
    registrar.access(self, keyPath: \.sections)
    return current
  }
  /// Why the last change could not be followed: the results are those from before it. Nil where it was.
  public private(set) var error: (any Error)? {
    get {
      registrar.access(self, keyPath: \.error)
      return failure
    }
    set { registrar.withMutation(of: self, keyPath: \.error) { failure = newValue } }
  }

  private let registrar = ObservationRegistrar()
  private var current: [FetchedResultsSection<Object>] = []
  private var failure: (any Error)?
  private var places: [ManagedObjectID: FetchedIndex] = [:]
  private var streams: [AsyncStream<FetchedResultsDiff>.Continuation] = []

  /// Fetches the objects of a request, and follows them from now on.
  ///
  /// Where the request's order does not begin with the sections' key path, that is put before it.
  ///
  /// - Throws: As ``ManagedObjectContext/fetch(_:)``, and ``FetchError/notAValue(entity:key:)`` for a section key path
  ///   that leads to no attribute.
  public init(
    _ request: FetchRequest<Object>, sectionKeyPath: String? = nil, in context: ManagedObjectContext
  ) throws {
    self.request = request
    self.sectionKeyPath = sectionKeyPath
    self.context = context
    current = try fetchSections()
    index()
    context.requireChangeObservers().add(self) { [weak self] changes in self?.follow(changes) }
  }

  deinit {
    context.changeObservers?.remove(ObjectIdentifier(self))
    for stream in streams { stream.finish() }
  }

  // MARK: Results

  /// All objects, section after section.
  public var fetchedObjects: [Object] { sections.flatMap(\.objects) }

  /// The object at a place; nil where there is none.
  public func object(at index: FetchedIndex) -> Object? {
    guard sections.indices.contains(index.section),
      sections[index.section].objects.indices.contains(index.item)
    else { return nil }
    return sections[index.section].objects[index.item]
  }

  /// The place of an object; nil where it is not among the results.
  public func index(of object: Object) -> FetchedIndex? {
    registrar.access(self, keyPath: \.sections)
    return places[object.objectID]
  }

  // MARK: Changes

  /// What each change of the results is, from now on. Each call gives a new sequence, which ends with the controller.
  /// What is not taken waits, for a list goes through all of them.
  public var diffs: AsyncStream<FetchedResultsDiff> {
    let (stream, continuation) = AsyncStream<FetchedResultsDiff>.makeStream()
    streams.append(continuation)
    return stream
  }

  /// Fetches anew, with the unsaved changes that there are, and gives the difference, which ``diffs`` tell too.
  ///
  /// - Throws: As ``ManagedObjectContext/fetch(_:)``; the results are those from before then.
  @discardableResult
  public func update() throws -> FetchedResultsDiff {
    try update(ObjectChanges(updated: ManagedObjectIDs(context.touchedObjects.map(\.objectID))))
  }

  private func follow(_ changes: ObjectChanges) {
    do {
      try update(changes)
    } catch {
      self.error = error
    }
  }

  @discardableResult
  private func update(_ changes: ObjectChanges) throws -> FetchedResultsDiff {
    let new = try fetchSections()
    if failure != nil { error = nil }
    let diff = FetchedResultsDiff(from: current.map(\.shape), to: new.map(\.shape)) {
      changes.updated.contains($0) || changes.refreshed.contains($0)
    }
    guard !diff.isEmpty else {
      current = new
      index()
      return diff
    }
    registrar.willSet(self, keyPath: \.sections)
    current = new
    index()
    registrar.didSet(self, keyPath: \.sections)
    if context.isReading { tellAgain() }
    streams.removeAll { stream in
      if case .terminated = stream.yield(diff) { return true }
      return false
    }
    return diff
  }

  /// Who reads the sections while this change is learnt of is followed once all that they read has been: for them it is
  /// told when the state that they read has been let go of.
  private func tellAgain() {
    context.noteLater { [weak self] in
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
        value = FetchRun.fetched(try evaluator.value(of: path, for: object)).identity
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

  private func index() {
    places.removeAll(keepingCapacity: true)
    for (section, objects) in current.enumerated() {
      for (item, object) in objects.objects.enumerated() {
        places[object.objectID] = FetchedIndex(section: section, item: item)
      }
    }
  }
}

extension FetchedResultsController: Observable {}

@available(*, unavailable)
extension FetchedResultsController: Sendable {}

/// Objects of a ``FetchedResultsController`` with one value of its section key path.
///
/// ```swift
/// let results = try FetchedResultsController(FetchRequest<Book>(), sectionKeyPath: "language", in: context)
/// for section in results.sections { print(section.value.attribute ?? .null, section.objects.count) }
/// ```
public struct FetchedResultsSection<Object: ManagedObject> {
  /// The value that the objects have; nil in the one section of results that have no key path for sections.
  public let value: FetchedValue
  /// The objects in the request's order.
  public fileprivate(set) var objects: [Object]

  fileprivate var shape: FetchedResultsDiff.Section {
    FetchedResultsDiff.Section(value: value, ids: objects.map(\.objectID))
  }
}

@available(*, unavailable)
extension FetchedResultsSection: Sendable {}
