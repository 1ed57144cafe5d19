/// Fetched objects that are read as they are touched: see ``ManagedObjectContext/lazyFetch(_:)``.
///
/// The collection knows the keys of all its objects and holds the objects of the batches touched last. An object
/// that somebody else holds, or that has changes, is the same one whenever it is asked for; others are made anew
/// when their batch is read again.
///
/// ```swift
/// var request = FetchRequest<Book>()
/// request.fetchBatchSize = 200
/// for book in try context.lazyFetch(request) { print(book.title) }
/// ```
public struct LazyFetchResults<Object: ManagedObject>: RandomAccessCollection {
  private let batches: LazyBatches

  init(_ batches: LazyBatches) { self.batches = batches }

  public var startIndex: Int { 0 }
  public var endIndex: Int { batches.keys.count }

  /// The object at a place. Its batch is read unless it was one of the last.
  public subscript(position: Int) -> Object {
    // The class was compared when the request was made.
    unsafeDowncast(batches.object(at: position), to: Object.self)
  }

  /// The identifier of the object at a place, for which nothing is read.
  public func objectID(at position: Int) -> ManagedObjectID { batches.objectID(at: position) }

  /// The identifiers of all objects, for which nothing is read.
  public var objectIDs: [ManagedObjectID] { indices.map { batches.objectID(at: $0) } }
}

@available(*, unavailable)
extension LazyFetchResults: Sendable {}

/// What copies of a collection share: the keys and the batches touched last.
final class LazyBatches {
  let keys: [FetchedKey]
  private let plan: EntityPlan
  private let context: ManagedObjectContext
  private let size: Int
  private let paths: [PrefetchPath]
  /// The newest last. A few, for whoever compares objects at several places.
  private var held: [(number: Int, objects: [ManagedObject])] = []
  private static let maximumCount = 4

  init(keys: [FetchedKey], plan: EntityPlan, context: ManagedObjectContext, size: Int, paths: [PrefetchPath])
  {
    self.keys = keys
    self.plan = plan
    self.context = context
    self.size = size
    self.paths = paths
  }

  func object(at position: Int) -> ManagedObject {
    let number = position / size
    let offset = position - number * size
    if let last = held.last, last.number == number { return last.objects[offset] }
    if let place = held.firstIndex(where: { $0.number == number }) {
      held.append(held.remove(at: place))
      return held[held.count - 1].objects[offset]
    }
    let objects = read(number)
    if held.count == Self.maximumCount { held.removeFirst() }
    held.append((number, objects))
    return objects[offset]
  }

  func objectID(at position: Int) -> ManagedObjectID {
    let scope = context.scopes[keys[position].entity]
    return ManagedObjectID(storeID: scope.storeID, entityName: scope.plan.name, key: keys[position].key)
  }

  private func read(_ number: Int) -> [ManagedObject] {
    let wanted = keys[number * size..<min(keys.count, number * size + size)]
    do {
      let objects = try context.objects(of: wanted, plan)
      if !paths.isEmpty { try context.prefetch(paths, of: objects) }
      return objects
    } catch {
      context.observe(
        ObservedError(
          reason: .readFailed("\(error)"), entity: plan.name, property: nil, objectID: nil))
      // Each tries to read its own row when it is asked for a value.
      return wanted.map { context.object(of: $0) }
    }
  }
}
