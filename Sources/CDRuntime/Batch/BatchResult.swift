/// What a batch has done.
///
/// ```swift
/// let result = try context.execute(BatchDeleteRequest<Book>(where: \.price > 100))
/// print(result.count, "books,", result.changes.deleted.count, "objects with all that belonged to them")
/// ```
public struct BatchResult: Hashable, Sendable {
  /// How many objects the request was for: rows that were inserted or, being there, updated, and objects that were
  /// updated or deleted.
  public let count: Int
  /// Every object that is another one now: those that a delete rule reached and those whose derived attributes were
  /// computed anew are among them.
  public let changes: ObjectChanges
}
