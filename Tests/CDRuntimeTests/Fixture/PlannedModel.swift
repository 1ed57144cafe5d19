import Synchronization
import Testing

@testable import CDRuntime

/// A model with its plan, for tests that open hundreds of stores: to read and resolve the model takes most of the time of
/// an opening, and is the same each time.
///
/// In an app each coordinator makes a plan of its own, as the other tests do. Two coordinators of one plan know
/// nothing more of each other, for a plan never changes.
struct PlannedModel: Sendable {
  let plan: ModelPlan
  private let classes: ClassBindings

  private static let generated = Result { try PlannedModel(for: LibraryModel.self) }

  /// The plan of ``LibraryModel``.
  static var library: PlannedModel {
    get throws { try generated.get() }
  }

  init(for model: any GeneratedModel.Type) throws {
    let coordinator = try PersistentStoreCoordinator(for: model, at: .inMemory)
    plan = coordinator.plan
    classes = coordinator.classes
  }

  /// A model without generated classes.
  init(_ model: ManagedObjectModel) throws {
    // Of one store with all entities: see coordinator(_:).
    plan = try ModelPlan(model, configurations: [nil])
    classes = .none
  }

  func coordinator(at location: StoreLocation) throws -> PersistentStoreCoordinator {
    try coordinator(PersistentStoreDescription(location))
  }

  func coordinator(_ description: PersistentStoreDescription) throws -> PersistentStoreCoordinator {
    try #require(description.configuration == nil, "the plan is that of one store with all entities")
    return PersistentStoreCoordinator(
      plan: plan, classes: classes, engine: try StoreOpener(plan, [description]).open())
  }
}

extension PlannedModel {
  /// The plans of the models that were asked for last.
  private static let recent = Mutex<[PlannedModel]>([])

  /// The plan of a model, which is remembered: a test opens one store with one model several times.
  static func remembered(_ model: ManagedObjectModel) throws -> PlannedModel {
    if let known = recent.withLock({ $0.first { $0.plan.model == model } }) { return known }
    let planned = try PlannedModel(model)
    recent.withLock { known in
      if known.count == 8 { known.removeFirst() }
      known.append(planned)
    }
    return planned
  }
}
