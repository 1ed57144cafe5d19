/// Fetched objects that are read when they are accessed: see ``ManagedObjectContext/lazyFetch(_:)``.
///
/// The collection knows the keys of all its objects and holds the objects of the batches that were accessed last. An
/// object that other code holds, or that has changes, stays the same instance. Other objects are created again when
/// their batch is read again, and all of them after a reset of the context.
///
/// ```swift
/// var request = FetchRequest<Book>()
/// request.batchSize = 200
/// for book in try context.lazyFetch(request) { print(book.title) }
/// ```
public struct LazyFetchResults<Object: ManagedObject>: RandomAccessCollection {
  private let batches: LazyBatches

  init(_ batches: LazyBatches) { self.batches = batches }

  public var startIndex: Int { 0 }
  public var endIndex: Int { batches.keys.count }

  /// The object at a position. Its batch is read, unless it is one of the last accessed batches.
  public subscript(position: Int) -> Object {
    // The class was checked when the request was made.
    unsafeDowncast(batches.object(at: position), to: Object.self)
  }

  /// Returns the identifier of the object at a position, without reading anything.
  public func objectID(at position: Int) -> ManagedObjectID { batches.objectID(at: position) }

  /// The identifiers of all objects, without reading anything.
  public var objectIDs: [ManagedObjectID] { indices.map { batches.objectID(at: $0) } }
}

@available(*, unavailable)
extension LazyFetchResults: Sendable {}

/// The data that copies of a collection share: the keys and the batches that were accessed last.
final class LazyBatches {
  let keys: [FetchedKey]
  private let plan: EntityPlan
  private let context: ManagedObjectContext
  private let size: Int
  private let paths: [PrefetchPath]
  /// The last accessed batch is at the end. Several are held for code that compares objects at different positions.
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
    if let index = held.lastIndex(where: { $0.number == number }) {
      if index < held.count - 1 { held.append(held.remove(at: index)) }
      let object = held[held.count - 1].objects[offset]
      return object.isInaccessible ? successor(of: object, at: position) : object
    }
    let objects = read(number)
    if held.count == Self.maximumCount { held.removeFirst() }
    held.append((number, objects))
    return objects[offset]
  }

  /// The object that stands for the row of a held object now: another one if the context has been reset, or if it has read
  /// the row again after another context had deleted and inserted it. Otherwise the same object, with its last values.
  private func successor(of object: ManagedObject, at position: Int) -> ManagedObject {
    guard object.scope.hasContext else {
      // A reset has ended all objects.
      held.removeAll()
      return self.object(at: position)
    }
    guard let other = context.registered(object.key, root: plan.root), other.scope.plan === object.scope.plan
    else { return object }
    held[held.count - 1].objects[position % size] = other
    return other
  }

  func objectID(at position: Int) -> ManagedObjectID {
    context.registry.objectID(keys[position].key, ofEntity: keys[position].entity)
  }

  private func read(_ number: Int) -> [ManagedObject] {
    let wanted = keys[number * size..<min(keys.count, number * size + size)]
    do {
      let objects = try context.objects(of: wanted, plan)
      if !paths.isEmpty { try context.prefetch(paths, of: objects) }
      return objects
    } catch {
      context.observe(.readFailed("\(error)"), plan.name)
      // Each object tries to read its own row when one of its values is read.
      return wanted.map { context.object(of: $0) }
    }
  }
}
