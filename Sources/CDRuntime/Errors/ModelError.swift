import CDModel

/// An error that explains why a model cannot be used. `cdgen check` finds all of these errors, with the line in the
/// schema.
///
/// ```swift
/// do {
///   let store = PersistentStoreDescription(.sqlite(url), configuration: "Catalogue")
///   let container = try PersistentContainer(for: LibraryModel.self, stores: [store])
///   print(container.persistentStoreCoordinator.storeIDs)
/// } catch ModelError.unknownConfiguration(let name) {
///   print("declare \(name) under `configurations:`")
/// }
/// ```
public enum ModelError: Error, Hashable, Sendable {
  /// The model's current version is not among its versions.
  case noCurrentVersion(model: String, number: Int)
  /// A relationship leads to an entity that the version does not have.
  case unknownEntity(entity: String, property: String, destination: String)
  /// An attribute has a type that the version does not declare.
  case unknownType(entity: String, property: String, type: String)
  /// The inverse of a relationship does not lead back.
  case wrongInverse(entity: String, property: String, inverse: String)
  /// A store names a configuration that the version does not have.
  case unknownConfiguration(String)
  /// Two stores of one coordinator would hold the objects of the same entity.
  case entityInTwoStores(String)
  /// The generated code has classes, but none for this entity.
  case classMissing(entity: String)
  /// The class of an entity is not the one generated for it.
  case wrongClass(entity: String, found: String)
  /// An entity has more than 1,000 ancestors, which SQL and Swift do not support.
  case tooManyAncestors(entity: String)
  /// The model in the generated code cannot be read.
  case unreadable(model: String, reason: String)
}

extension ModelError: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    switch self {
    case .noCurrentVersion(let model, let number):
      "model '\(model)' has no version \(number); set `current:` in model.yaml to an existing version"
    case .unknownEntity(let entity, let property, let destination):
      "relationship '\(entity).\(property)' leads to '\(destination)', which is not an entity of the model"
    case .unknownType(let entity, let property, let type):
      "attribute '\(entity).\(property)' has type '\(type)', which the model does not declare"
    case .wrongInverse(let entity, let property, let inverse):
      "inverse '\(inverse)' of relationship '\(entity).\(property)' does not lead back to it; "
        + "each of the two relationships must name the other as its inverse"
    case .unknownConfiguration(let name):
      "the model's version has no configuration '\(name)'; declare it under `configurations:`"
    case .entityInTwoStores(let entity):
      "two stores would hold '\(entity)'; list the entity and its ancestors in one configuration only"
    case .classMissing(let entity):
      "entity '\(entity)' has no generated class, but other entities do; generate the code again"
    case .wrongClass(let entity, let found):
      "the generated class \(found) does not fit entity '\(entity)'; generate the code again, and do not edit it"
    case .tooManyAncestors(let entity):
      "entity '\(entity)' has more than \(EntityGraph.mostAncestors) ancestors, which is the maximum; let "
        + "the entity inherit from an entity higher up"
    case .unreadable(let model, let reason):
      "the generated code of \(model) contains no readable model (\(reason)); generate the code again"
    }
  }
}

extension ModelError: PresentableError {
  public var situation: ErrorSituation { .mistakeOfApp }
}
