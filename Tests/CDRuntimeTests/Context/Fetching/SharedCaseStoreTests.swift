import Foundation
import PredicateCases
import SeededRandom
import Testing

@testable import CDRuntime

/// The collected cases, asked of stores of every kind as an app asks: the objects are saved, read from the file where
/// there is one, and fetched.
@Suite(
  .enabled(if: PredicateCase.folder != nil, "needs the shared/ folder beside the checkout"),
  .onceForAllKinds)
struct SharedCaseStoreTests {
  @Test(arguments: StoreKind.allCases) func fetchesAnswerAsMemoryDoes(_ kind: StoreKind) throws {
    var stores: [String: DatasetStore] = [:]
    // The engine without SQL decides and sorts in memory.
    var inMemory: [String: DatasetStore] = [:]
    for (name, dataset) in try SharedDataset.all() {
      stores[name] = try DatasetStore(dataset, kind, zero: kind.zero)
      inMemory[name] = try DatasetStore(dataset, .plain, zero: kind.zero)
    }
    var count = 0
    for item in try PredicateCase.all() where item.mode == "dataset" {
      count += 1
      let store = try #require(stores[item.dataset])
      let found: PredicateCase.Expectation
      do {
        let ids = try store.ids(item)
        found = ids.isEmpty ? .indices([]) : .rows(Set(ids))
        if kind != .plain {
          #expect(try ids == inMemory[item.dataset]?.ids(item), "the order of \(item.id)")
        }
      } catch {
        #expect(item.expected == .error, "\(item.id): \(item.format.prefix(90)): \(error)")
        continue
      }
      #expect(found == item.expected, "\(item.id): \(item.format.prefix(90)) \(item.arguments)")
    }
    #expect(count == 339)
  }

  /// The cases that are about values of no dataset, asked of a store with one object. Many read a key that the object does
  /// not have; for all others, the store decides as the evaluator does.
  @Test(arguments: StoreKind.allCases) func valuesAreComparedAsInMemory(_ kind: StoreKind) throws {
    let entity = EntityDescription(
      name: "Thing",
      attributes: [
        AttributeDescription(name: "name", type: .string, isOptional: true),
        AttributeDescription(name: "age", type: .int64, isOptional: true),
        AttributeDescription(name: "length", type: .double, isOptional: true),
      ])
    let container = try PersistentContainer(scratchOf: [entity], ScratchStore(kind))
    let context = container.newContext()
    let thing = try context.insert(entityNamed: "Thing")
    try thing.setValue("Zoë\(kind.zero)", forKey: "name")
    try context.save()
    var compared = 0
    for item in try PredicateCase.all() where item.mode == "eval" {
      // To read a format of some hundred thousand characters takes seconds. The other kinds read and fetch as these do.
      if item.format.utf8.count > 100_000, !isThorough, kind != .sqlite, kind != .plain { continue }
      guard
        let predicate = try? FetchPredicate(
          format: item.format.replacingZeros(by: kind.zero), arguments: item.arguments)
      else { continue }
      let evaluator = PredicateEvaluator(variables: item.variables.mapValues { EvaluationValue($0) })
      guard let expected = try? evaluator.matches(predicate, thing) else { continue }
      compared += 1
      var request = FetchRequest<ManagedObject>(entityName: "Thing", where: predicate)
      request.variables = item.variables
      do {
        #expect(
          try context.fetch(request).count == (expected ? 1 : 0), "\(item.id): \(item.format.prefix(90))")
      } catch { Issue.record("\(item.id): \(item.format.prefix(90)): \(error)") }
    }
    #expect(compared > 100)
  }
}

/// A dataset that an app has saved, and opened again.
private struct DatasetStore {
  private let context: ManagedObjectContext
  /// The rows' own identifiers.
  private let names: [ManagedObjectID: String]
  private let uris: [String: String]
  /// What takes the place of U+0000 in texts: see ``StoreKind/zero``.
  private let zero: String

  /// The attributes of each entity by which its objects can be sorted.
  private let sortKeys: [String: [SortKey]]

  init(_ dataset: SharedDataset, _ kind: StoreKind, zero: String) throws {
    let store = ScratchStore(kind)
    self.zero = zero
    sortKeys = Dictionary(
      uniqueKeysWithValues: dataset.version.entities.map { entity in
        (
          entity.name,
          entity.attributes.filter { !$0.isTransient && $0.type != .data }.map { SortKey($0.name) }
        )
      })
    let model = ManagedObjectModel(
      name: "Dataset", id: UUID(), versions: [dataset.version], currentVersionNumber: 1)
    var names: [ManagedObjectID: String] = [:]
    var uris: [String: String] = [:]
    func filled() throws -> ManagedObjectContext {
      let context = ManagedObjectContext(try PersistentStoreCoordinator(model: model, at: store.location))
      var objects: [ObjectIdentifier: ManagedObject] = [:]
      let rows = dataset.rows.sorted { $0.key < $1.key }.flatMap(\.value)
      for row in rows {
        let object = try context.insert(entityNamed: row.entity.name)
        for (key, value) in row.attributes {
          try object.setValue(.attribute(value.replacingZeros(by: zero)), forKey: key)
        }
        objects[ObjectIdentifier(row)] = object
        names[object.objectID] = row.id
        uris["\(row.entity.name)/\(row.id)"] = object.objectID.uriRepresentation.absoluteString
      }
      for row in rows {
        let object = objects[ObjectIdentifier(row)]
        for (key, other) in row.toOne {
          try object?.setValue(.object(objects[ObjectIdentifier(other)]), forKey: key)
        }
        for (key, others) in row.toMany {
          try object?.setValue(.objects(others.compactMap { objects[ObjectIdentifier($0)] }), forKey: key)
        }
      }
      try context.save()
      return context
    }
    if kind.isInMemory {
      context = try filled()
    } else {
      _ = try filled()
      context = ManagedObjectContext(try PersistentStoreCoordinator(model: model, at: store.location))
    }
    self.names = names
    self.uris = uris
  }

  /// What a fetch gives, sorted by all attributes.
  func ids(_ item: PredicateCase) throws -> [String] {
    let arguments: [(any FormatArgument)?] = item.arguments.map { argument in
      (argument as? ExpressionConstant).map { located($0) }
        ?? (argument as? String)?.replacingZeros(by: zero) ?? argument
    }
    var request = FetchRequest<ManagedObject>(
      entityName: item.entity,
      where: try FetchPredicate(format: item.format.replacingZeros(by: zero), arguments: arguments))
    request.variables = item.variables.mapValues(located)
    request.sortKeys = sortKeys[item.entity] ?? []
    return try context.fetch(request).compactMap { names[$0.objectID] }
  }

  /// A constant whose references are those of the store.
  private func located(_ constant: ExpressionConstant) -> ExpressionConstant {
    switch constant {
    case .object(let object):
      .object(ObjectReference(entity: object.entity, uri: uris[object.uri] ?? object.uri))
    case .array(let elements): .array(elements.map(located))
    case .set(let elements): .set(Set(elements.map(located)))
    case .dictionary(let pairs): .dictionary(pairs.mapValues(located))
    case .value(let value): .value(value.replacingZeros(by: zero))
    }
  }
}

extension String {
  fileprivate func replacingZeros(by text: String) -> String {
    text == "\0" ? self : replacingOccurrences(of: "\0", with: text)
  }
}

extension AttributeValue {
  fileprivate func replacingZeros(by text: String) -> AttributeValue {
    if case .string(let value) = self { .string(value.replacingZeros(by: text)) } else { self }
  }
}
