#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A defect of a store, found by ``PersistentStoreCoordinator/verify()``.
///
/// ```swift
/// for finding in try container.persistentStoreCoordinator.verify() {
///   switch finding {
///   case .damaged(let text): print("restore the store from a backup: \(text)")
///   case .invalid(let error): print("\(error.entity) breaks a rule: \(error)")
///   default: print(finding)
///   }
/// }
/// ```
public enum StoreFinding: Error, Hashable, Sendable {
  /// The file is damaged. The text is the database's message.
  case damaged(String)
  /// A row refers to a row that does not exist.
  case danglingReference(entity: String, key: Int64, destination: String)
  /// A relationship that is its own inverse leads from one object to another, but not back. The two numbers are the
  /// keys of the objects. Each direction is stored in a row of its own.
  case oneDirection(entity: String, relationship: String, key: Int64, other: Int64)
  /// A value cannot be read as the type that the model declares.
  case unreadable(ObservedError)
  /// A value breaks a rule of the model.
  case invalid(ValidationError)
  /// The value of a derived attribute is not the one that its derivation gives now. The key is that of the object. A save
  /// of any change of the object computes the value again.
  case outdatedValue(entity: String, attribute: String, key: Int64)
  /// A row names an entity that the model does not have, or an abstract one. No fetch returns the row, but counts of its
  /// root entity include it. Copies and migrations of the store are refused, because they would lose the row.
  case unknownEntity(entity: String, key: Int64, name: String)
  /// A hash in the metadata is not the hash of the model that the store carries.
  case wrongHash(key: String)
  /// The history row with this number cannot be read. Contexts and listeners miss this save.
  case unreadableHistory(id: Int64)
  /// A save to several stores is in this store, under this number in the history, but not in the other stores named.
  /// Either a crash happened between writing the files, or one of the stores was restored from a backup.
  case incompleteSave(id: Int64, store: UUID, missing: [UUID])
  /// The next key in the store's counter is already used, or no keys follow it. A new object could not be inserted.
  case keyTaken(entity: String)
  /// A metadata entry, named by its key, cannot be read: see <doc:SQLiteLayout>.
  case unreadableMetadata(key: String)
  /// The file contains a table or an index that another program has created and that no store of cdgen has.
  case foreignObject(String)
}

extension StoreFinding {
  @_optimize(none)
  init(_ defect: StoreDefect) {
    self =
      switch defect {
      case .damaged(let text): .damaged(text)
      case .danglingReference(let entity, let key, let destination):
        .danglingReference(entity: entity, key: key, destination: destination)
      case .oneDirection(let entity, let relationship, let key, let other):
        .oneDirection(entity: entity, relationship: relationship, key: key, other: other)
      case .unknownEntity(let entity, let key, let name): .unknownEntity(entity: entity, key: key, name: name)
      case .keyTaken(let entity): .keyTaken(entity: entity)
      case .foreignObject(let object): .foreignObject(object)
      }
  }
}

extension StoreFinding: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    switch self {
    case .damaged(let text): "damaged: \(text)"
    case .danglingReference(let entity, let key, let destination):
      "'\(entity)' p\(key) refers to an object of '\(destination)' that does not exist"
    case .oneDirection(let entity, let relationship, let key, let other):
      "'\(entity)' p\(key) has p\(other) in '\(relationship)', but p\(other) does not have p\(key)"
    case .unreadable(let error):
      "\(error.objectID.map { "\($0): " } ?? "")\(error)"
    case .invalid(let error): "\(error)"
    case .outdatedValue(let entity, let attribute, let key):
      "'\(entity)' p\(key) has a value of '\(attribute)' that its derivation does not give; change the object and save it"
    case .unknownEntity(let entity, let key, let name):
      "'\(entity)' p\(key) has the entity '\(name)', which is unknown to the model or abstract"
    case .wrongHash(let key): "the metadata's \(key) does not match the model in the store"
    case .unreadableHistory(let id): "row \(id) of _cdgen_history cannot be read"
    case .incompleteSave(let id, let store, let missing):
      "save \(id) of the store \(store) has not reached the stores "
        + missing.map(\.uuidString).joined(separator: ", ")
    case .keyTaken(let entity):
      "the next key of '\(entity)' is in use, or is the last one; set it in _cdgen_keys above the largest _pk"
    case .unreadableMetadata(let key):
      "the metadata's \(key) cannot be read; restore the store from a backup"
    case .foreignObject(let object): "\(object) was created by another program; drop it if it is not needed"
    }
  }
}

extension PersistentStoreCoordinator {
  /// Checks the stores completely: the files, the references, whether the two sides of each relationship agree, whether
  /// every value can be read, the rules of the model, the derived values, the hashes of the metadata, and the history.
  /// Changes nothing.
  ///
  /// Derivations that call a function such as `now()` or `random()` are not repeated, because they have another value each
  /// time. If the coordinator does not have the store of an entity, relationships to the entity's objects are not checked, and
  /// neither are derivations that read these objects.
  ///
  /// All rows are read in batches, so the use of memory is bounded. Each engine checks its own files.
  ///
  /// - Throws: ``StoreError`` if a store cannot be read at all.
  @_optimize(none)
  public func verify() throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    let session = try engine.takeSession()
    do {
      defer { engine.returnSession(session) }
      findings = try session.defects().map { StoreFinding($0) }
      for store in session.stores.all { findings += try verifySystem(of: store, session) }
      findings += try incompleteSaves(session)
    }
    for root in plan.entities where root.root == root.index && engine.stores.store(of: root) != nil {
      try verifyRows(
        of: root, isReadable: { engine.stores.store(of: $0) != nil }, { findings.append($0) })
    }
    return findings
  }

  private static let batchSize = 1000

  /// Calls a function with each defect of each row of a table.
  ///
  /// - Parameter isReadable: Returns whether the objects of an entity can be read. Without them, related objects seem to be
  ///   missing, and derived values seem to be outdated.
  @_optimize(none)
  func verifyRows(
    of root: EntityPlan, isReadable: (EntityPlan) -> Bool, _ body: (StoreFinding) -> Void
  ) throws {
    let derivations = RepeatedDerivations(of: root, plan.entities, isReadable: isReadable)
    var last: ObjectKey? = 0
    while let start = last {
      // Each batch has its own context, so that objects of earlier batches are released.
      let context = ManagedObjectContext(self)
      context.keepAllErrors()
      // A derived value and what it is computed from are read from the same state.
      last = try context.perform {
        guard
          let batch = try context.reader().rows(
            ofSubtree: root, isOwn: false, after: start, count: Self.batchSize)
        else { return nil }
        let objects = try context.objects(from: batch.rows, of: root)
        for object in objects {
          for error in context.ruleErrors(of: object) {
            let slot = error.property.flatMap { object.scope.plan.slot($0) }
            if let relationship = slot?.relationship, !isReadable(plan.entities[relationship.destination]) {
              continue
            }
            body(.invalid(error))
          }
        }
        let unreadable = context.recentErrors
        for error in unreadable { body(.unreadable(error)) }
        // This reads other objects, whose defects are reported with their own rows.
        let reported = Set(unreadable.map(\.objectID))
        for object in objects where !reported.contains(object.objectID) {
          derivations.forEachDefect(of: object, context, body)
        }
        return batch.last
      }
    }
  }
}

/// The derivations that have the same value each time that they are repeated, unless an object changes.
private struct RepeatedDerivations {
  /// The derived attributes of each entity that has any, by the entity's index.
  private let attributes: [Int: [PropertyPlan]]
  private let evaluator = PredicateEvaluator()

  /// - Parameter isReadable: Returns whether the objects of an entity can be read.
  @_optimize(none)
  init(of root: EntityPlan, _ entities: [EntityPlan], isReadable: (EntityPlan) -> Bool) {
    var attributes: [Int: [PropertyPlan]] = [:]
    for index in root.subtree {
      let entity = entities[index]
      for number in entity.derivedSlots {
        let slot = entity.slots[number]
        guard slot.isStored, let derivation = slot.attribute?.derivation, derivation.isRepeatable,
          entity.entities(readBy: derivation, among: entities).allSatisfy(isReadable)
        else { continue }
        attributes[index, default: []].append(slot)
      }
    }
    self.attributes = attributes
  }

  /// Calls a function with each derived value of an object that differs from what its derivation gives.
  @_optimize(none)
  func forEachDefect(
    of object: ManagedObject, _ context: ManagedObjectContext, _ body: (StoreFinding) -> Void
  ) {
    let entity = object.scope.plan
    for slot in attributes[entity.index] ?? [] {
      do {
        guard let value = try context.derivedValue(of: object, slot, evaluator),
          !Self.differOnlyByRounding(
            value, object.storedValue(slot.number), isFloat: slot.storageType == .float)
        else { continue }
        body(.outdatedValue(entity: entity.name, attribute: slot.name, key: object.key))
      } catch {
        body(.invalid(ValidationError(.notDerivable("\(error)"), of: object, slot.name)))
      }
    }
  }

  /// Whether two values are numbers that differ only because a sum was computed in another order.
  private static func differOnlyByRounding(_ first: AttributeValue, _ second: AttributeValue, isFloat: Bool)
    -> Bool
  {
    switch (first, second) {
    case (.double(let first), .double(let second)):
      // A Float has 24 binary digits, and a Double 53.
      return abs(first - second) <= max(abs(first), abs(second)) * (isFloat ? 0x1p-20 : 0x1p-40)
    case (.date(let first), .date(let second)):
      return abs(first.timeIntervalSince(second)) < 1e-3
    default: return false
    }
  }
}
