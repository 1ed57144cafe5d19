#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A reason why a batch was refused. Nothing was written, except for ``partlyWritten(written:missing:reason:)``: a batch that
/// has reached some of several stores.
///
/// ```swift
/// do {
///   try context.execute(BatchDeleteRequest<Publisher>(where: \.name == "BookCo"))
/// } catch BatchError.deleteDenied(let entity, let relationship, let ids) {
///   print("\(ids.count) objects of \(entity) still have \(relationship)")
/// }
/// ```
public enum BatchError: Error, Hashable, Sendable {
  /// Rows break rules of the schema. The list has the first 100 mistakes.
  case invalid([BatchMistake])
  /// A batch cannot write derived, transient and to-many properties, or to-one relationships whose references other
  /// rows store.
  case notWritable(entity: String, key: String)
  /// A row has the same values of a `unique:` list as another row, or the same object of a one-to-one relationship.
  /// `properties` is empty if the store does not name them. `row` is the index of an inserted row, from 0.
  case notUnique(entity: String, properties: [String], row: Int?)
  /// Objects that were to be deleted still have objects in a relationship with a `deny` rule. The list has at most
  /// 100 of them.
  case deleteDenied(entity: String, relationship: String, [ManagedObjectID])
  /// Rows refer to rows that do not exist.
  case danglingReferences(entity: String)
  /// An expression does not have its attribute's type.
  case wrongExpression(entity: String, key: String, reason: String)
  /// The changes of some stores have been written; then another store could not be written, for the given reason. `missing`
  /// has the changes that have not been written.
  ///
  /// If `missing` has objects of the batch's own entity, the same batch can write the rest. If not, it must not run again: it
  /// does not find objects that are deleted already, so that it does not reach their related objects, and it would do a
  /// calculation twice. Then write the rest of the changes yourself. The rest of a deletion can be written in both cases:
  ///
  /// ```swift
  /// let request = BatchDeleteRequest<Author>(where: \.name == "Thoreau")
  /// do {
  ///   try context.execute(request)
  /// } catch BatchError.partlyWritten(_, let missing, _) {
  ///   // As soon as there is room on the disk again:
  ///   for id in missing.deleted { context.delete(try context.existingObject(with: id)) }
  ///   try context.save()
  /// }
  /// ```
  case partlyWritten(written: [URL], missing: ObjectChanges, reason: StoreError)
}

/// A rule of the schema that a row of a batch breaks.
///
/// ```swift
/// do {
///   try context.execute(BatchUpdateRequest<Book>(set: [.set(\.price, to: -1)]))
/// } catch BatchError.invalid(let mistakes) {
///   for mistake in mistakes { print(mistake.property ?? mistake.entity, mistake.reason) }
/// }
/// ```
public struct BatchMistake: Hashable, Sendable {
  /// The index of an inserted row, from 0; nil in other batches.
  public let row: Int?
  /// The name of the entity.
  public let entity: String
  /// The attribute, `composite.field` or relationship; nil if the rule concerns the whole row.
  public let property: String?
  /// The broken rule.
  public let reason: ValidationError.Reason
  /// The object of a row that is already in the store; nil for other rows.
  public let objectID: ManagedObjectID?

  init(
    row: Int? = nil, entity: String, property: String?, reason: ValidationError.Reason,
    objectID: ManagedObjectID? = nil
  ) {
    self.row = row
    self.entity = entity
    self.property = property
    self.reason = reason
    self.objectID = objectID
  }
}

extension BatchMistake: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    let subject = property.map { "'\(entity).\($0)'" } ?? "'\(entity)'"
    let location = row.map { "row \($0)" } ?? objectID?.description ?? "every row"
    return "\(subject) of \(location) \(reason)"
  }
}

extension BatchError: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    switch self {
    case .invalid(let mistakes): mistakes.map(\.description).joined(separator: "\n")
    case .notWritable(let entity, let key):
      "'\(entity).\(key)' is not stored in the rows of '\(entity)', or is computed; a batch cannot set it"
    case .notUnique(let entity, let properties, let row):
      (row.map { "row \($0)" } ?? "a row") + " of '\(entity)' has the same "
        + (properties.isEmpty ? "unique values" : properties.joined(separator: ", "))
        + " as another row; omit it, or set `uniqueness` if both rows are of '\(entity)'"
    case .deleteDenied(let entity, let relationship, let ids):
      "'\(entity).\(relationship)' denies the deletion of "
        + ids.map(\.description).joined(separator: ", ") + "; delete or move the related objects first"
    case .danglingReferences(let entity):
      "the batch would leave references from or to '\(entity)' without a row; nothing was written"
    case .wrongExpression(let entity, let key, let reason): "'\(entity).\(key)' cannot be set: \(reason)"
    case .partlyWritten(let written, let missing, let reason):
      "the batch was written in \(written.map(StoreError.name).joined(separator: ", ")), but not in the other "
        + "stores; objects left: \(Self.counts(missing)). The reason: \(reason)"
    }
  }
}

extension BatchError {
  /// The numbers of the objects that are left.
  @_optimize(none)
  private static func counts(_ missing: ObjectChanges) -> String {
    let parts = [("insert", missing.inserted), ("update", missing.updated), ("delete", missing.deleted)]
    return parts.filter { !$0.1.isEmpty }.map { "\($0.1.count) to \($0.0)" }.joined(separator: ", ")
  }
}

extension BatchError: PresentableError {
  public var situation: ErrorSituation {
    switch self {
    case .invalid: .invalidValues
    case .notUnique: .notUnique
    case .deleteDenied: .deletionDenied
    case .danglingReferences: .objectGone
    case .notWritable, .wrongExpression: .mistakeOfApp
    case .partlyWritten: .partlySaved
    }
  }

  public var situationNames: [String] {
    switch self {
    case .notUnique(let entity, _, _), .deleteDenied(let entity, _, _): ["entity." + entity]
    default: []
    }
  }
}
