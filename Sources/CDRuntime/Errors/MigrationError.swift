#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Why a store could not be migrated. Its objects are as they were.
///
/// The error names no data: ``objectKey`` tells which row it was, where that is known.
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
    /// The number of the version that the step starts from.
    public let source: Int
    /// The number of the version that it leads to.
    public let destination: Int
    /// The merged model whose versions these are, in a store of several; nil where they are those of the store's model.
    public let model: String?

    init(source: Int, destination: Int, model: String? = nil) {
      self.source = source
      self.destination = destination
      self.model = model
    }

    /// `version 3 to version 4`, and for one of several merged models `of 'Notes'`.
    public var description: String {
      "version \(source) to version \(destination)" + (model.map { " of '\($0)'" } ?? "")
    }
  }

  /// What went wrong.
  public enum Reason: Hashable, Sendable {
    /// The store is of a version that the model does not have yet, or that comes after its current one.
    case newerStore(current: Int)
    /// The model has no way from the store's version to its current one.
    case noPath
    /// In a store of several merged models, these have an entity of one name on the way, whichever moves first.
    case collidingModels([String])
    /// The step has no mapping file, and nothing may be inferred.
    case noMappingModel
    /// These changes have no rule, or their loss was not confirmed.
    case notProven([String])
    /// The store was written with a draft or a branch of the model, from which these would be lost. A draft of a version
    /// that is locked by now may be one that users have stores of, so that nothing erases it.
    case losesData([String], isLocked: Bool)
    /// The app's own code is to make the objects, and none was given for this entity mapping.
    case missingPolicy(mapping: String)
    /// The app's own code threw an error.
    case policyFailed(String)
    /// A mandatory property would be without a value.
    case missingValue(property: String)
    /// A mandatory relationship would lead nowhere: a mapping's filter leaves the object behind that it led to, which is
    /// named by its entity and its `_pk` in the table that the step starts from.
    case leftBehind(property: String, owner: String, ownerKey: Int64)
    /// A mapping's filter leaves an object behind that owns others by this relationship, and its `owned` is `refuse`.
    case ownsObjects(relationship: String)
    /// A rule gives no value that the property can have.
    case invalidValue(property: String, reason: String)
    /// Two objects have equal values under a new unique constraint.
    case duplicate(properties: [String])
    /// A reference leads to no object.
    case danglingReference(table: String)
    /// The result is not what it should be, and was not used.
    case verificationFailed(String)
    /// Somebody has the store open, in this process or in another.
    case inUse
    /// The disk has not enough room; the bytes that are needed, where that is known.
    case diskFull(needed: Int64?)
    /// The task was cancelled, or the ``MigrationObserver`` said so.
    case cancelled
    /// Reading or writing failed.
    case store(StoreError)
    /// The operating system refused something.
    case system(String)
  }

  /// The store's file.
  public let url: URL
  /// The step; nil for what concerns none.
  public let step: Step?
  /// The entity; nil for what concerns none, or where it is not known. That of the destination, where the error
  /// is about what objects become.
  public let entity: String?
  /// The row's `_pk` in the table that the step starts from, or in the new one where rows are compared with each
  /// other; nil where it is not known.
  public let objectKey: Int64?
  /// What went wrong.
  public let reason: Reason

  init(
    _ url: URL, _ reason: Reason, step: Step? = nil, entity: String? = nil, objectKey: Int64? = nil
  ) {
    self.url = url
    self.step = step
    self.entity = entity
    self.objectKey = objectKey
    self.reason = reason
  }
}

extension MigrationError: CustomStringConvertible {
  public var description: String {
    var place = "the store \(url.path(percentEncoded: false)) cannot be migrated"
    if let step { place += " from \(step)" }
    if let entity { place += ", entity '\(entity)'" }
    if let objectKey { place += ", row \(objectKey)" }
    return "\(place): \(reason)"
  }
}

extension MigrationError.Reason: CustomStringConvertible {
  public var description: String {
    switch self {
    case .newerStore(let current):
      "it is of a later version than \(current), which is the model's; update the app"
    case .noPath:
      "the model has no way to its current version; base a version on the store's, or add a mapping"
    case .collidingModels(let models):
      "the merged models \(models.map { "'\($0)'" }.joined(separator: ", ")) have an entity of one name on the way; "
        + "let one of them give it up in a release of its own, before another takes it"
    case .noMappingModel: "the step has no mapping, and `infersMappingModelAutomatically` is off"
    case .notProven(let changes): "there is no rule for: \(changes.joined(separator: "; "))"
    case .losesData(let changes, let isLocked):
      "it was written with another draft of this version, and there would be lost: "
        + changes.joined(separator: "; ")
        + (isLocked
          ? "; the version is locked by now: open the store with the model that it was written with, or remove it"
          : "; make the change in a version of its own, with rules for what would be lost, or remove the store"
            + " (`changedDraftPolicy` does that while the version is not locked)")
    case .missingPolicy(let mapping): "the app has given no code for the entity mapping '\(mapping)'"
    case .policyFailed(let reason): "the app's own code failed: \(reason)"
    case .missingValue(let property): "'\(property)' would have no value; give it one in a mapping"
    case .leftBehind(let property, let owner, let ownerKey):
      "'\(property)' would have no value: '\(owner)' of row \(ownerKey), which it led to, is left behind by a mapping's "
        + "'where'; leave these objects behind too, or give the relationship another object"
    case .ownsObjects(let relationship):
      "a mapping's 'where' leaves it behind, and not what its '\(relationship)' leads to; say 'owned: drop' or "
        + "'owned: keep' in the mapping, or let 'where' take it"
    case .invalidValue(let property, let reason): "'\(property)' gets no fitting value: \(reason)"
    case .duplicate(let properties):
      "there are objects with equal \(properties.joined(separator: ", ")); add `onDuplicate` to a mapping"
    case .danglingReference(let table): "a reference of '\(table)' leads to no object"
    case .verificationFailed(let reason): "the result was not right and not used: \(reason)"
    case .inUse: "it is in use; let go of its containers, contexts and objects, and close other programs"
    case .diskFull(let needed):
      "the disk is full" + (needed.map { "; it takes \($0) bytes" } ?? "") + "; make room and try again"
    case .cancelled: "it was cancelled"
    case .store(let error): "\(error)"
    case .system(let reason): reason
    }
  }
}
