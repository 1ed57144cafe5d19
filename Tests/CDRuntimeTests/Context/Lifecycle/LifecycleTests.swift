import CDRuntime
import Foundation
import Testing

/// What the fixture's tags do at the turns of their lives, in contexts that ask for it by their author's name.
extension Tag: ManagedObjectLifecycle {
  private var isAsked: Bool { managedObjectContext?.transactionAuthor?.hasPrefix("hooks") == true }

  private func note(_ text: String) {
    if isAsked, let context = managedObjectContext { context.transactionAuthor?.append(" \(text)") }
  }

  func awakeFromInsert() {
    HookProbe.reach(.awakeFromInsert, self)
    note("insert")
  }

  func awakeFromFetch() {
    HookProbe.reach(.awakeFromFetch, self)
    note("fetch")
    if isAsked { name += "*" }
    if let context = managedObjectContext, context.transactionAuthor == "fetching" {
      // The very fetch by which the object came.
      let count = (try? Tag.objects(in: context).count) ?? -1
      name += " of \(count)"
    }
  }

  func willSave() {
    HookProbe.reach(.willSave, self)
    note("will")
    guard isAsked, let context = managedObjectContext else { return }
    switch name {
    case "lower": name = "LOWER"
    case "chain": _ = Tag(name: "chained", in: context)
    case "endless": _ = Tag(name: "endless", in: context)
    case "delete others":
      for other in context.registeredObjects where other is Shelf { context.delete(other) }
    default: break
    }
    if name == "chain" { name = "chain done" }
  }

  func didSave() {
    HookProbe.reach(.didSave, self)
    note(isDeleted ? "did delete" : "did")
  }

  func prepareForDeletion() {
    HookProbe.reach(.prepareForDeletion, self)
    note("prepare \(books.count)")
  }

  struct Refusal: Error, CustomStringConvertible { var description: String }

  func validateForInsert() throws {
    HookProbe.reach(.validateForInsert, self)
    if name == "no insert" { throw Refusal(description: "not inserted") }
  }

  func validateForUpdate() throws {
    HookProbe.reach(.validateForUpdate, self)
    if name == "no update" { throw Refusal(description: "not updated") }
  }

  func validateForDelete() throws {
    HookProbe.reach(.validateForDelete, self)
    if name == "no delete" { throw Refusal(description: "not deleted") }
  }
}

@Suite struct LifecycleTests {
  let store: TemporaryStore
  let container: PersistentContainer

  init() throws {
    store = try TemporaryStore()
    container = try store.container()
  }

  private func context(_ author: String? = "hooks") -> ManagedObjectContext {
    let context = container.newContext()
    context.transactionAuthor = author
    return context
  }

  /// What the tags of a context have noted since the last call.
  private func notes(_ context: ManagedObjectContext) -> String {
    defer { context.transactionAuthor = "hooks" }
    return context.transactionAuthor.map { String($0.dropFirst(6)) } ?? ""
  }

  @Test func anObjectIsAskedAtEachTurn() throws {
    let context = context()
    let tag = Tag(name: "a", in: context)
    #expect(notes(context) == "insert")
    try context.save()
    #expect(notes(context) == "will did")
    tag.name = "b"
    try context.save()
    #expect(notes(context) == "will did")
    context.delete(tag)
    #expect(notes(context) == "prepare 0")
    try context.save()
    #expect(notes(context) == "will did delete")
    try context.save()
    #expect(notes(context) == "")
  }

  @Test func whatAwakingSetsIsNoChange() throws {
    let first = context(nil)
    let tag = Tag(name: "a", in: first)
    try first.save()
    let context = context()
    let found = try #require(Tag.objects(in: context).first)
    #expect(notes(context) == "fetch")
    #expect(found.name == "a*")
    #expect(!context.hasChanges && found.changedValues.isEmpty)
    context.refresh(found, mergeChanges: false)
    #expect(found.name == "a*")
    #expect(notes(context) == "fetch")
    let fault = try context.existingObject(with: tag.objectID)
    #expect(fault === found && notes(context) == "")
  }

  @Test(arguments: [true, false]) func aFetchOfAChildAwakesItsObjects(includesChanges: Bool) throws {
    let parent = context(nil)
    let tag = Tag(name: "a", in: parent)
    try parent.save()
    let child = ManagedObjectContext(parent: parent)
    child.transactionAuthor = "hooks"
    var request = FetchRequest<Tag>()
    request.includesPendingChanges = includesChanges
    let found = try #require(try child.fetch(request).first)
    #expect(notes(child) == "fetch")
    #expect(found.name == "a*" && tag.name == "a" && !child.hasChanges)
  }

  /// The hook of the parent's object runs while the child's save gives the parent its changes.
  ///
  /// - Parameter isPushed: Whether the save pushes another change of the object that the hook changes.
  @Test(arguments: [false, true])
  func whatAParentsHookChangesInTheChildStaysThere(isPushed: Bool) throws {
    let parent = context(nil)
    let (tag, other) = (Tag(name: "a", in: parent), Tag(name: "b", in: parent))
    try parent.save()
    let child = ManagedObjectContext(parent: parent)
    let copy = try child.localInstance(of: other)
    if isPushed { copy.name = "early" }
    let new = Tag(name: "new", in: child)
    child.delete(try child.localInstance(of: tag))
    let probe = HookProbe(.prepareForDeletion) { _ in
      copy.name = "late"
      new.name = "newer"
      _ = Tag(name: "newest", in: child)
    }
    try HookProbe.$current.withValue(probe) { try child.save() }
    #expect(probe.wasReached && probe.error == nil && tag.isDeleted)
    #expect(copy.name == "late" && other.name == (isPushed ? "early" : "b"))
    #expect(child.updatedObjects == [copy, new] && child.insertedObjects.count == 1)
    #expect(try Tag.objects(in: parent).map(\.name) == [isPushed ? "early" : "b", "new"])
    try child.save()
    #expect(!child.hasChanges)
    #expect(try Tag.objects(in: parent).map(\.name) == ["late", "newer", "newest"])
  }

  /// A pair that was removed and added again makes the push read the parent's relationship, and with it another tag.
  @Test func whatAParentsAwakingChangesInTheChildStaysThere() throws {
    let first = context(nil)
    let book = Book(title: "B", isbn: "1", author: Author(name: "A", in: first), in: first)
    let tags = ["a", "b", "c", "d"].map { Tag(name: $0, in: first) }
    book.tags = [tags[0], tags[1]]
    try first.save()
    let parent = context(nil)
    let child = ManagedObjectContext(parent: parent)
    let (copy, paired) = try (child.localInstance(of: book), child.localInstance(of: tags[0]))
    let (changed, deleted) = try (child.localInstance(of: tags[2]), child.localInstance(of: tags[3]))
    copy.removeFromTags(paired)
    copy.addToTags(paired)
    let probe = HookProbe(.awakeFromFetch) { object in
      #expect(object?.objectID == tags[1].objectID && object?.managedObjectContext === parent)
      changed.name = "late"
      child.delete(deleted)
      _ = Tag(name: "new", in: child)
    }
    try HookProbe.$current.withValue(probe) { try child.save() }
    #expect(probe.wasReached && probe.error == nil)
    #expect(child.updatedObjects == [changed] && changed.name == "late")
    #expect(child.deletedObjects == [deleted] && child.insertedObjects.count == 1)
    #expect(try Tag.objects(in: parent).map(\.name) == ["a", "b", "c", "d"])
    try child.save()
    #expect(!child.hasChanges)
    #expect(try Tag.objects(in: parent).map(\.name) == ["a", "b", "late", "new"])
  }

  /// The hook extends a list to which the child has given another order.
  @Test func aParentsHookFindsTheChildsOrder() throws {
    let parent = context(nil)
    let author = Author(name: "A", in: parent)
    let books = (1...3).map { Book(title: "B", isbn: "\($0)", author: author, in: parent) }
    let (shelf, tag) = (Shelf(in: parent), Tag(name: "a", in: parent))
    shelf.books = [books[0], books[1]]
    try parent.save()
    let child = ManagedObjectContext(parent: parent)
    let draft = try child.localInstance(of: shelf)
    let copies = try books.map { try child.localInstance(of: $0) }
    draft.books = [copies[1], copies[0]]
    child.delete(try child.localInstance(of: tag))
    let probe = HookProbe(.prepareForDeletion) { _ in draft.books.append(copies[2]) }
    try HookProbe.$current.withValue(probe) { try child.save() }
    #expect(probe.wasReached && probe.error == nil && tag.isDeleted)
    #expect(shelf.books == [books[1], books[0]])
    #expect(draft.books == [copies[1], copies[0], copies[2]] && child.updatedObjects == [draft])
    try child.save()
    #expect(shelf.books == [books[1], books[0], books[2]] && !child.hasChanges)
  }

  @Test func awakingMayFetch() throws {
    let first = context(nil)
    for number in 1...20 { _ = Tag(name: "\(number)", in: first) }
    try first.save()
    let context = context("fetching")
    #expect(try Tag.objects(in: context).map(\.name) == (1...20).map { "\($0) of 20" })
    let tags = try Tag.objects(in: context)
    // Some have to be read again while the others are found in memory.
    for tag in tags.prefix(3) { context.refresh(tag, mergeChanges: false) }
    #expect(try Tag.objects(in: context).map(\.name) == (1...20).map { "\($0) of 20" })
  }

  @Test func awakingMayFetchTheSameWithAnotherConstant() throws {
    let first = context(nil)
    for number in 100...199 { _ = Tag(name: "\(number)", in: first) }
    try first.save()
    let context = context(nil)
    let tags = try context.fetch(FetchRequest<Tag>(where: \.name < "3"))
    #expect(tags.count == 100)
    // So many objects must be read again that the fetch begins anew after some have awoken.
    for tag in tags.prefix(90) { context.refresh(tag, mergeChanges: false) }
    let probe = HookProbe(.awakeFromFetch) { _ in
      let others = try context.fetch(FetchRequest<Tag>(where: \.name < "105"))
      #expect(others.count == 5)
    }
    let again = try HookProbe.$current.withValue(probe) {
      try context.fetch(FetchRequest<Tag>(where: \.name < "3"))
    }
    #expect(probe.wasReached && probe.error == nil)
    #expect(again == tags)
  }

  @Test func whatAwakingDeletesIsGoneForGood() throws {
    let first = context(nil)
    let author = Author(name: "A", in: first)
    let book = Book(title: "B", isbn: "1", author: author, in: first)
    let next = Book(title: "C", isbn: "2", author: author, in: first)
    next.prequel = book
    _ = Tag(name: "a", in: first)
    try first.save()
    let context = context(nil)
    context.undoManager = ContextUndoManager()
    let probe = HookProbe(.awakeFromFetch) { _ in
      context.delete(try context.existingObject(with: book.objectID))
    }
    let tags = try HookProbe.$current.withValue(probe) { try Tag.objects(in: context) }
    #expect(tags.count == 1 && probe.wasReached && probe.error == nil)
    let sequel = try #require(try context.existingObject(with: next.objectID) as? Book)
    #expect(sequel.prequel == nil && sequel.isUpdated)
    // What is read is not undone.
    #expect(context.undoManager?.canUndo == false)
    try context.save()
    let rest = try Book.objects(in: store.freshContext())
    #expect(rest.map(\.isbn) == ["2"] && rest.allSatisfy { $0.prequel == nil })
  }

  @Test func willSaveMayChangeTheObjectAndOthers() throws {
    let context = context()
    let lower = Tag(name: "lower", in: context)
    _ = Tag(name: "chain", in: context)
    let shelf = Shelf(in: context)
    _ = Tag(name: "delete others", in: context)
    try context.save()
    #expect(lower.name == "LOWER")
    #expect(shelf.isDeleted)
    let names = try Tag.objects(in: store.freshContext()).map(\.name).sorted()
    #expect(names == ["LOWER", "chain done", "chained", "delete others"])
    #expect(try Shelf.objects(in: store.freshContext()).isEmpty)
  }

  @Test func willSaveThatNeverEndsIsRefused() throws {
    let context = context()
    _ = Tag(name: "endless", in: context)
    let error = #expect(throws: SaveError.self) { try context.save() }
    guard case .unstableObjects(let objects)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(objects.count == 1)
    #expect(context.insertedObjects.count == 1001)
    #expect(try Tag.objects(in: store.freshContext()).isEmpty)
    context.rollback()
    #expect(!context.hasChanges)
  }

  @Test func itsOwnValidationIsAmongTheErrors() throws {
    let context = context(nil)
    let update = Tag(name: "u", in: context)
    let delete = Tag(name: "no delete", in: context)
    try context.save()
    let insert = Tag(name: "no insert", in: context)
    update.name = "no update"
    context.delete(delete)
    func refusal(_ text: String, _ tag: Tag) -> ValidationError {
      ValidationError(reason: .refused(text), entity: "Tag", property: nil, objectID: tag.objectID)
    }
    #expect(
      throws: SaveError.validation([
        refusal("not inserted", insert), refusal("not updated", update), refusal("not deleted", delete),
      ])
    ) { try context.save() }
    #expect(context.validationErrors(of: update) == [refusal("not updated", update)])
    context.rollback()
    #expect(update.name == "u")
  }

  @Test func objectsThatDeleteEachOtherArePreparedOnce() throws {
    let context = context()
    let (a, b) = (Tag(name: "a", in: context), Tag(name: "b", in: context))
    try context.save()
    _ = notes(context)
    let probeOfB = HookProbe(.prepareForDeletion) { object in
      #expect(object === b)
      context.delete(a)
    }
    let probe = HookProbe(.prepareForDeletion) { object in
      #expect(object === a)
      HookProbe.$current.withValue(probeOfB) { context.delete(b) }
    }
    HookProbe.$current.withValue(probe) { context.delete(a) }
    #expect(probeOfB.wasReached)
    #expect(notes(context) == "prepare 0 prepare 0")
    #expect(a.isDeleted && b.isDeleted)
    try context.save()
    #expect(try Tag.objects(in: store.freshContext()).isEmpty)
  }

  @Test func anObjectThatDeletesItselfIsPreparedOnce() throws {
    let context = context()
    let tag = Tag(name: "a", in: context)
    try context.save()
    _ = notes(context)
    let probe = HookProbe(.prepareForDeletion) { object in object?.delete() }
    HookProbe.$current.withValue(probe) { context.delete(tag) }
    #expect(notes(context) == "prepare 0")
    #expect(tag.isDeleted)
  }

  @Test func anObjectMadeAfterAResetBelongsToTheContext() throws {
    let context = context(nil)
    let before = Tag(name: "before", in: context)
    try context.save()
    let id = before.objectID
    _ = try context.existingObject(with: id)
    context.reset()
    let after = Tag(name: "after", in: context)
    #expect(after.managedObjectContext === context)
    #expect(try context.existingObject(with: id).managedObjectContext === context)
    try context.save()
    #expect(try Tag.objects(in: store.freshContext()).count == 2)
  }
}
