import CDRuntime
import Foundation

/// A window of the application: a context with unsaved changes, an undo manager, and what the window shows.
///
/// The actor runs on a queue of its own, so that a slow disk blocks neither the event loop nor Swift's threads. Each
/// command is one `perform` block: it reads one snapshot of the store, and its changes are one step of undo.
actor Window {
  static let pageSize = 100

  /// The window in the address of the page.
  nonisolated let id = Secret.random()
  /// The token that a page must send with every change. Pages of other sites cannot read it.
  nonisolated let token = Secret.random()

  let context: ManagedObjectContext
  let list: OpenList
  let clock: Clock
  var query = ListQuery()
  /// The conflicts of the last save, until the person has chosen.
  var conflicts: [SaveConflict] = []
  /// Texts that are no dates, beside the fields in which they were typed.
  private var rejected: [ManagedObjectID: FieldError] = [:]
  private let undoManager = ContextUndoManager(levelsOfUndo: 200)
  /// The items of the query, until something changes.
  private var results: LazyFetchResults<ToDo>?
  /// Whether objects may lack their values, because the store could not be read.
  private var mustReread = false
  private let executor = QueueExecutor(label: "window")

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(_ list: OpenList, clock: Clock) {
    self.list = list
    self.clock = clock
    context = list.container.newContext()
    context.undoManager = undoManager
    context.transactionAuthor = id
  }

  var isEdited: Bool { context.hasChanges }

  // MARK: Commands

  /// Runs a command, and returns the parts of the page that it has changed.
  func run(_ command: Command) -> [Fragment] {
    var reply = Reply()
    do {
      try reading {
        results = nil
        // The changes of a command are one step of undo. A command without changes is none, and its name is forgotten.
        undoManager.beginUndoGrouping()
        defer { undoManager.endUndoGrouping() }
        try execute(command, &reply)
      }
    } catch {
      reply.message = Message(explanation(of: error), isError: true)
      reply.message?.isRefusal = true
    }
    return fragments(reply)
  }

  /// Runs a block on one snapshot of the store.
  ///
  /// A getter cannot throw. If one in the block could not read the store, its error is thrown here, and the objects are
  /// read again later.
  private func reading<Result>(_ body: () throws -> Result) throws -> Result {
    if mustReread {
      context.refreshAllObjects()
      results = nil
      mustReread = false
    }
    let before = context.recentErrors
    defer { mustReread = context.recentErrors != before }
    return try context.perform {
      let result = try body()
      let errors = context.recentErrors
      guard errors != before else { return result }
      // The context keeps the newest hundred.
      for error in errors.dropFirst(min(before.count, errors.count - 1)) {
        if case .readFailed = error.reason { throw error }
      }
      return result
    }
  }

  private func execute(_ command: Command, _ reply: inout Reply) throws {
    switch command {
    case .query(let query): self.query = query
    case .add(let title, let dueDate, let category):
      reply.addErrors = try add(title, dueDate, category)
    case .set(let id, let field, let value, let was):
      let toDo = try ToDo.object(with: id, in: context)
      if let was { reply.message = Self.overtaking(was, in: field, of: toDo, by: value) }
      try set(field, of: toDo, to: value)
    case .complete(let ids, let isOn):
      let toDos = try toDos(ids)
      for toDo in toDos {
        toDo.completed = isOn
        // Who completes an item, or mutes it, has answered its alert.
        toDo.remindDate = nil
      }
      name(isOn ? "Complete" : "Reopen", toDos.count)
    case .mute(let ids, let isOn):
      let toDos = try toDos(ids)
      for toDo in toDos {
        toDo.doNotAlert = isOn
        toDo.remindDate = nil
      }
      name(isOn ? "Mute" : "Unmute", toDos.count)
    case .categorize(let ids, let category):
      let category = try category.map { try Category.object(with: $0, in: context) }
      let toDos = try toDos(ids)
      for toDo in toDos { toDo.category = category }
      name("Change Category of", toDos.count)
    case .delete(let ids):
      let toDos = try toDos(ids)
      for toDo in toDos { toDo.delete() }
      name("Delete", toDos.count)
    case .addCategory(let name): reply.categoryErrors = try addCategory(name)
    case .renameCategory(let id, let name): reply.categoryErrors = try renameCategory(id, name)
    case .moveCategory(let id, let index): try moveCategory(id, to: index)
    case .deleteCategory(let id): reply.categoryErrors = try deleteCategory(id)
    case .load(let document):
      document.insert(into: try panel(), in: context)
      name("Import", document.items.count)
      reply.message = Message("Imported \(Self.items(document.items.count)). They are not saved yet.")
    case .undo: context.undo()
    case .redo: context.redo()
    case .save: reply.message = save(choosing: [])
    case .resolve(let choices): reply.message = save(choosing: choices)
    case .decideLater: conflicts = []
    case .revert:
      context.rollback()
      conflicts = []
      rejected = [:]
    case .refresh: reply.isOfRefresh = true
    }
  }

  /// Names the changes of the command for the undo menu.
  func name(_ action: String) { undoManager.setActionName(action) }

  private func name(_ verb: String, _ count: Int) { name("\(verb) \(Self.items(count, "Item"))") }

  static func items(_ count: Int, _ noun: String = "item") -> String {
    count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
  }

  // MARK: Items

  /// The items of identifiers, without those that somebody else has deleted.
  private func toDos(_ ids: [ManagedObjectID]) throws -> [ToDo] {
    try ids.compactMap { id in
      do {
        return try ToDo.object(with: id, in: context)
      } catch FetchError.unknownObject {
        return nil
      }
    }
  }

  /// Adds an item.
  ///
  /// - Returns: The mistakes of the form. The item is not added then.
  private func add(_ title: String, _ dueDate: String, _ category: ManagedObjectID?) throws -> [FieldError] {
    guard let date = LocalTime.date(dueDate) else { return [.missingDate] }
    // Before the item is made: a category that does not exist must leave no item.
    let category = try category.map { try Category.object(with: $0, in: context) }
    let toDo = ToDo(title: title.trimmingCharacters(in: .whitespaces), dueDate: date, in: context)
    toDo.category = category
    let errors = context.validationErrors(of: toDo)
    if errors.isEmpty { name("Add “\(toDo.title.prefix(30))”") } else { toDo.delete() }
    return errors.map(FieldError.init)
  }

  /// Sets a value even if it breaks a rule: the row shows the mistake, and the save refuses it.
  private func set(_ field: Field, of toDo: ToDo, to value: String) throws {
    switch field {
    case .title: toDo.title = value.trimmingCharacters(in: .whitespaces)
    case .notes: toDo.notes = value
    case .dueDate:
      guard let date = LocalTime.date(value) else {
        rejected[toDo.objectID] = .missingDate
        return
      }
      rejected[toDo.objectID] = nil
      toDo.dueDate = date
      // After a change of its date, an item can have an alert again, at the new date.
      toDo.lastAlertDate = nil
      toDo.remindDate = nil
    }
    name("Change “\(toDo.title.prefix(30))”")
  }

  /// Tells the person that others have saved another text while the person was editing the field. The save would not ask
  /// about it, because the window has read the new text before the person's own was set.
  private static func overtaking(_ was: String, in field: Field, of toDo: ToDo, by value: String) -> Message?
  {
    let now = field.text(of: toDo)
    // A browser has its own line breaks.
    func words(_ text: String) -> String { text.filter { !$0.isNewline } }
    guard words(now) != words(was), words(now) != words(value) else { return nil }
    return Message(
      "Somebody else has changed this to “\(now.prefix(200))” while you were editing it. Undo brings that back.",
      isError: true)
  }

  // MARK: The list

  /// The items of the query, of which the store reads a page at a time.
  private func toDos() throws -> LazyFetchResults<ToDo> {
    if let results { return results }
    try forgetVanishedCategory()
    let found = try context.lazyFetch(query.request(now: clock.now, in: context))
    results = found
    return found
  }

  /// Shows all categories if the one of the query does not exist any more, because it was undone or somebody has removed it.
  private func forgetVanishedCategory() throws {
    guard let category = query.category else { return }
    do {
      _ = try Category.object(with: category, in: context)
    } catch FetchError.unknownObject {
      query.category = nil
    }
  }

  /// The rows of a page of the list.
  func rows(from offset: Int) throws -> HTML {
    try reading {
      // Holding the categories lets the rows read their names without asking the store.
      let categories = try panel().categories
      let toDos = try toDos()
      return withExtendedLifetime(categories) {
        let start = min(max(0, offset), toDos.count)
        let end = min(start + Self.pageSize, toDos.count)
        return HTML(
          (start..<end).map { index in
            Row(toDos[index], at: index, now: clock.now, errors: mistakes(of: toDos[index])).html
          })
      }
    }
  }

  private func mistakes(of toDo: ToDo) -> [FieldError] {
    let own = rejected[toDo.objectID].map { [$0] } ?? []
    guard toDo.isInserted || toDo.isUpdated else { return own }
    return own + context.validationErrors(of: toDo).map(FieldError.init)
  }

  /// The whole page.
  ///
  /// - Parameter alerts: The dialog of the due items.
  func page(alerts: Fragment?) throws -> HTML {
    try reading {
      results = nil
      return ListPage(
        window: id, token: token, list: list, now: clock.now, query: query,
        fragments: try listFragments() + fragments(of: Reply()) + [alerts].compactMap { $0 },
        rows: try rows(from: 0)
      ).html
    }
  }

  /// The list with its unsaved changes as JSON.
  func export() throws -> Data {
    try reading { try ListDocument.encoder.encode(ListDocument(of: context)) }
  }

  private func fragments(_ reply: Reply) -> [Fragment] {
    var reply = reply
    var list: [Fragment] = []
    do {
      list = try reading { try listFragments() }
    } catch {
      // The page keeps what it shows of the list.
      if reply.message?.isError != true { reply.message = Message(explanation(of: error), isError: true) }
    }
    return list + context.perform { fragments(of: reply) }
  }

  /// The parts of the page that are read from the store.
  private func listFragments() throws -> [Fragment] {
    [
      Fragment(part: .list, html: ListPage.status(count: try toDos().count, query: query)),
      Fragment(
        part: .categories, html: try CategoryPanel(panel: panel(), query: query, in: context).html),
    ]
  }

  /// The parts of the page that the window itself has.
  private func fragments(of reply: Reply) -> [Fragment] {
    [
      Fragment(
        part: .toolbar,
        html: Toolbar(
          isEdited: isEdited, undo: undoManager.canUndo ? undoManager.undoActionName : nil,
          redo: undoManager.canRedo ? undoManager.redoActionName : nil, name: list.name
        ).html),
      Fragment(part: .conflicts, html: ConflictDialog(conflicts: conflicts, in: context).html),
    ] + reply.fragments
  }

  /// What a command tells the person, beside the new state.
  private struct Reply {
    var message: Message?
    /// Whether the page shows the list again by itself. What it has told the person before then stays.
    var isOfRefresh = false
    var addErrors: [FieldError] = []
    var categoryErrors: [FieldError] = []

    var fragments: [Fragment] {
      if isOfRefresh, message == nil { return [] }
      return [
        Fragment(part: .addErrors, html: FieldError.list(addErrors)),
        Fragment(part: .categoryErrors, html: FieldError.list(categoryErrors)),
        Fragment(part: .messages, html: message?.html ?? ""),
      ]
    }
  }
}

/// A sentence above the list.
struct Message: Sendable {
  var text: String
  var isError: Bool
  /// Whether the server has refused the command. Then the page keeps the text that was typed.
  var isRefusal = false

  init(_ text: String, isError: Bool = false) {
    self.text = text
    self.isError = isError
  }
}
