import Foundation

@testable import CDRuntime

/// What differs between the runtime and the oracle.
struct Difference: Error, CustomStringConvertible {
  let description: String
}

/// One context of a random run, with what the oracle expects of it.
final class RandomSide {
  let context: ManagedObjectContext
  var graph: OracleGraph
  /// What the context's changes start from.
  var base: OracleGraph
  /// Objects that the test holds.
  var held: [Int: ManagedObject] = [:]
  /// The count of the store's saves that the context knows.
  var saves = 0
  /// What others saved while the context had changes: the next thing that it does is to save.
  var behind: Set<Int>?
  /// Relationships that may be noted as changed though they have not been.
  var attempted: [Int: Set<String>] = [:]

  init(_ context: ManagedObjectContext, _ graph: OracleGraph) {
    self.context = context
    self.graph = graph
    base = graph
  }

  /// Whether there is nothing to save.
  var isClean: Bool { graph.touched.isEmpty && attempted.isEmpty }

  func start(from graph: OracleGraph) {
    self.graph = graph
    base = graph
    attempted.removeAll()
    behind = nil
    held = held.filter { graph.rows[$0.key] != nil }
  }

  /// Lets go of what nobody else holds.
  func letGo() {
    held.removeAll()
    context.registry.sweep()
  }
}

/// A store with two contexts, and the oracle beside it.
final class RandomWorld {
  let container: PersistentContainer
  var sides: [RandomSide] = []
  /// What has been saved.
  var stored: OracleGraph
  var saves = 0
  /// Two contexts may give one object two partners, which no row's version tells: there is no right state then.
  var isOver = false
  var ids: [Int: ManagedObjectID] = [:]
  private(set) var numbers: [ManagedObjectID: Int] = [:]
  /// Verifying and reading everything again after each save takes most of the time.
  var savesUntilCheck = 0

  init(_ kind: StoreKind) throws {
    container = try PersistentContainer(scratchModel: EveryRelationshipModel.model, ScratchStore(kind))
    stored = OracleGraph(OracleModel(EveryRelationshipModel.version))
    sides = (0..<2).map { _ in RandomSide(container.newContext(), stored) }
  }

  func number(of id: ManagedObjectID) throws -> Int {
    guard let number = numbers[id] else { throw Difference(description: "unknown object \(id)") }
    return number
  }

  func adopt(_ object: ManagedObject, by side: RandomSide) -> Int {
    let number = ids.count
    ids[number] = object.objectID
    numbers[object.objectID] = number
    side.held[number] = object
    return number
  }

  func object(_ number: Int, _ side: RandomSide) throws -> ManagedObject {
    if let object = side.held[number] { return object }
    guard let id = ids[number] else { throw Difference(description: "no object \(number)") }
    let object = try side.context.object(with: id)
    side.held[number] = object
    return object
  }
}
