#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// An error that explains why a store could not be migrated. The store's objects are unchanged.
///
/// The error contains no data of the store. ``objectKey`` names the row if it is known.
///
/// ```swift
/// do {
///   _ = try PersistentContainer(for: ToDoModel.self, at: url)
/// } catch let error as MigrationError where error.reason == .inUse {
///   print("close the other program that uses \(error.url.path(percentEncoded: false)), and start again")
/// } catch let error as MigrationError {
///   print(error, error.step.map { "on the way from \($0)" } ?? "")
/// }
/// ```
public struct MigrationError: Error, Hashable, Sendable {
  /// A step from one version of the model to another.
  public struct Step: Hashable, Sendable, CustomStringConvertible {
    /// The number of the source version.
    public let source: Int
    /// The number of the destination version.
    public let destination: Int
    /// The name of the merged model that the versions belong to, in a store of several; nil if they belong to the
    /// store's model.
    public let model: String?

    package init(source: Int, destination: Int, model: String? = nil) {
      self.source = source
      self.destination = destination
      self.model = model
    }

    /// `version 3 to version 4`, followed by `of 'Notes'` for one of several merged models.
    public var description: String { "version \(source) to \(destinationName)" }

    @_optimize(none)
    fileprivate var destinationName: String {
      "version \(destination)" + (model.map { " of '\($0)'" } ?? "")
    }
  }

  /// The reason of the error.
  public enum Reason: Hashable, Sendable {
    /// The model does not have the store's version, or the store's version is later than the model's current one.
    case newerStore(current: Int)
    /// The model has no path from the store's version to its current one.
    case noPath
    /// The store has several merged models. On the path of these models, two have an entity of the same name, whichever
    /// is migrated first.
    case collidingModels([String])
    /// The step has no mapping file, and inference is turned off.
    case noMappingModel
    /// These changes have no rule, or their loss was not confirmed.
    case notProven([String])
    /// The store was written with a draft or a branch of the model. Migrating it would lose these data. If the draft's
    /// version is locked now, users may have stores of it, so no policy erases the store.
    case losesData([String], isLocked: Bool)
    /// The app has given no code for this custom entity mapping.
    case missingPolicy(mapping: String)
    /// The app's own code threw an error.
    case policyFailed(String)
    /// A mandatory property would have no value.
    case missingValue(property: String)
    /// A mandatory relationship would have no object, because a mapping's filter excludes the object that it led to.
    /// The error names that object by its entity and its `_pk` in the source table of the step.
    case leftBehind(property: String, owner: String, ownerKey: Int64)
    /// A mapping's filter excludes an object that owns others by this relationship, and the mapping's `owned` is
    /// `refuse`.
    case ownsObjects(relationship: String)
    /// The configurations of the new version give the entity to another store, or to none, but this store has objects
    /// of it. A migration moves no objects between stores.
    case leavesStore
    /// The references of the relationship are in the store of one configuration, and the new version would have them in
    /// the store of the other one. A migration moves nothing between stores. The configuration is nil for a store without
    /// one.
    case relationshipLeavesStore(relationship: String, from: String?, to: String?)
    /// A rule gives a value that the property cannot have.
    case invalidValue(property: String, reason: String)
    /// Two objects have equal values under a new unique constraint.
    case duplicate(properties: [String])
    /// A reference leads to no object.
    case danglingReference(table: String)
    /// The verification of the result failed. The result was not used.
    case verificationFailed(String)
    /// The store is open elsewhere, in this process or in another.
    case inUse
    /// The disk has too little space. The number is the bytes needed, if known.
    case diskFull(needed: Int64?)
    /// The task was cancelled, or the ``MigrationObserver`` has cancelled the migration.
    case cancelled
    /// Reading or writing failed.
    case store(StoreError)
    /// The operating system reported an error.
    case system(String)
  }

  /// The location of the store.
  public let url: URL
  /// The step that failed; nil if the error concerns no step.
  public let step: Step?
  /// The entity; nil if it is not known or if the error concerns none. It is an entity of the destination if the error
  /// concerns objects that the step creates.
  public let entity: String?
  /// The row's `_pk` in the source table of the step, or in the new table if rows are compared with each other; nil if
  /// it is not known.
  public let objectKey: Int64?
  /// The table whose lock another transaction has kept for too long, of a store on a server; otherwise nil.
  public let table: String?
  /// The reason of the error.
  public let reason: Reason

  package init(
    _ url: URL, _ reason: Reason, step: Step? = nil, entity: String? = nil, objectKey: Int64? = nil,
    table: String? = nil
  ) {
    self.url = url
    self.step = step
    self.entity = entity
    self.objectKey = objectKey
    self.table = table
    self.reason = reason
  }
}

extension MigrationError: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    var location = "the store \(StoreError.name(url)) cannot be migrated"
    switch (reason, step) {
    // Such a step leads from an earlier draft of a version to the same version.
    case (.losesData, let step?),
      (_, let step?) where step.source == step.destination:
      location += " to the current draft of \(step.destinationName)"
    case (_, let step?): location += " from \(step)"
    case (_, nil): break
    }
    if let entity { location += ", entity '\(entity)'" }
    if let objectKey { location += ", row \(objectKey)" }
    if let table { location += ", table '\(table)'" }
    if let step, step.source == step.destination, let text = reason.textOfDraft {
      return "\(location): \(text); make the change in a new version, or remove the store "
        + "(`changedDraftPolicy` can remove it while the version is not locked)"
    }
    return "\(location): \(reason)"
  }
}

extension MigrationError.Reason: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    switch self {
    case .newerStore(let current):
      "its version is later than the model's current version \(current); update the app"
    case .noPath:
      "no migration steps lead from its version to the model's current version; name its version in the `basedOn:` "
        + "of a "
        + "later version, or add a mapping file"
    case .collidingModels(let models):
      "the merged models \(models.map { "'\($0)'" }.joined(separator: ", ")) have an entity of the same name at "
        + "some point of the migration; "
        + "remove the entity from one model in one release, and add it to the other model in a later release"
    case .noMappingModel: "the step has no mapping, and `infersMappingModelAutomatically` is off"
    case .notProven(let changes):
      "these changes need a rule in the mapping: \(changes.joined(separator: "; "))"
    case .losesData(let changes, let isLocked):
      "it was written with an earlier draft, and the migration would lose data: "
        + changes.joined(separator: "; ")
        + (isLocked
          ? "; the version has been locked since: open the store with the model that wrote it, or remove the store"
          : "; make the change in a new version, with rules for the data that would be lost, or remove the store"
            + " (`changedDraftPolicy` can remove it while the version is not locked)")
    case .missingPolicy(let mapping):
      "the app provides no migration policy for the entity mapping '\(mapping)'"
    case .policyFailed(let reason): "the app's own code failed: \(reason)"
    case .missingValue(let property): "'\(property)' would have no value; write a rule for it in the mapping"
    case .leftBehind(let property, let owner, let ownerKey):
      "'\(property)' would have no value: it refers to row \(ownerKey) of '\(owner)', which the 'where' of a mapping "
        + "excludes; exclude these objects too, or set the relationship to another object by a rule"
    case .ownsObjects(let relationship):
      "the 'where' of a mapping excludes this object, but not the objects that its '\(relationship)' owns; write "
        + "'owned: drop' or 'owned: keep' in the mapping, or include the object by 'where'"
    case .leavesStore:
      "the configurations of the new version give this entity to another store or to none, and a migration moves no "
        + "objects between stores, so its objects would be lost; leave the entity in this store, or first move or "
        + "delete its objects with the old version"
    case .relationshipLeavesStore(let relationship, let old, let new):
      Self.movedReferences(relationship, from: old, to: new)
        + ", or confirm the loss by the rule '\(relationship): nil' in the mapping"
    case .invalidValue(let property, let reason): "'\(property)' cannot have the computed value: \(reason)"
    case .duplicate(let properties):
      "several objects have the same values of \(properties.joined(separator: ", ")), which must be unique; write an "
        + "`onDuplicate:` rule in the mapping"
    case .danglingReference(let table):
      "a row of the table '\(table)' refers to an object that does not exist"
    case .verificationFailed(let reason):
      "the check of the migrated store failed, so the migration was undone: \(reason)"
    case .inUse:
      "it is in use; release its containers, contexts and objects, and close other programs that use it"
    case .diskFull(let needed):
      "the disk is full" + (needed.map { "; the migration needs \($0) bytes" } ?? "")
        + "; free disk space and try again"
    case .cancelled: "the migration was cancelled"
    case .store(let error): "\(error)"
    case .system(let reason): reason
    }
  }

  /// The text for a changed draft, without the rule that would help otherwise: no mapping leads from a draft to the same
  /// version. Nil if the reason needs no rule.
  @_optimize(none)
  fileprivate var textOfDraft: String? {
    switch self {
    case .relationshipLeavesStore(let relationship, let old, let new):
      Self.movedReferences(relationship, from: old, to: new)
    case .notProven(let changes):
      "it was written with an earlier draft, from which no mapping leads: \(changes.joined(separator: "; "))"
    default: nil
    }
  }

  /// The text for a relationship whose references would move, without the rule that confirms their loss.
  fileprivate static func movedReferences(
    _ relationship: String, from old: String?, to new: String?
  ) -> String {
    "the references of '\(relationship)' are in \(place(old)), and the new version would have them in \(place(new)), "
      + "but a migration moves nothing between stores; keep the names and the kinds of the relationship, of its "
      + "inverse and of their entities, because they decide where the references are"
  }

  private static func place(_ configuration: String?) -> String {
    configuration.map { "the store of the configuration '\($0)'" } ?? "the store without a configuration"
  }
}

extension MigrationError: PresentableError {
  public var situation: ErrorSituation {
    switch reason {
    case .newerStore: .newerStore
    case .inUse: .storeBusy
    case .diskFull: .diskFull
    case .cancelled: .migrationCancelled
    case .store(let error): error.situation
    case .system: .inputOutput
    default: .migrationFailed
    }
  }
}
