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
    context.perform {
      results = nil
      do {
        try execute(command, &reply)
      } catch {
        reply.message = Message(explanation(of: error), isError: true)
      }
    }
    return context.perform { fragments(reply) }
  }

  private func execute(_ command: Command, _ reply: inout Reply) throws {
    switch command {
    case .query(let query): self.query = query
    case .add(let title, let dueDate, let category):
      reply.addErrors = try add(title, dueDate, category)
    case .set(let id, let field, let value):
      try set(field, of: ToDo.object(with: id, in: context), to: value)
    case .complete(let ids, let isOn):
      for toDo in try toDos(ids) { toDo.completed = isOn }
      name(isOn ? "Complete" : "Reopen", ids.count)
    case .mute(let ids, let isOn):
      for toDo in try toDos(ids) { toDo.doNotAlert = isOn }
      name(isOn ? "Mute" : "Unmute", ids.count)
    case .categorize(let ids, let category):
      let category = try category.map { try Category.object(with: $0, in: context) }
      for toDo in try toDos(ids) { toDo.category = category }
      name("Change Category of", ids.count)
    case .delete(let ids):
      for toDo in try toDos(ids) { toDo.delete() }
      name("Delete", ids.count)
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
    case .refresh: break
    }
  }

  /// Names the change that the block has made for the undo menu. A group of changes without a name is a new one.
  func name(_ action: String) {
    if undoManager.canUndo, undoManager.undoActionName.isEmpty { undoManager.setActionName(action) }
  }

  private func name(_ verb: String, _ count: Int) { name("\(verb) \(Self.items(count, "Item"))") }

  static func items(_ count: Int, _ noun: String = "item") -> String {
    count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
  }

  // MARK: Items

  private func toDos(_ ids: [ManagedObjectID]) throws -> [ToDo] {
    try ids.map { try ToDo.object(with: $0, in: context) }.filter { !$0.isDeleted && !$0.isInaccessible }
  }

  /// Adds an item.
  ///
  /// - Returns: The mistakes of the form. The item is not added then.
  private func add(_ title: String, _ dueDate: String, _ category: ManagedObjectID?) throws -> [FieldError] {
    guard let date = LocalTime.date(dueDate) else { return [.missingDate] }
    let toDo = ToDo(title: title.trimmingCharacters(in: .whitespaces), dueDate: date, in: context)
    toDo.category = try category.map { try Category.object(with: $0, in: context) }
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
      // After a change of its date, an item can have an alert again.
      toDo.lastAlertDate = nil
    }
    name("Change “\(toDo.title.prefix(30))”")
  }

  // MARK: The list

  /// The items of the query, of which the store reads a page at a time.
  func toDos() throws -> LazyFetchResults<ToDo> {
    if let results { return results }
    let found = try context.lazyFetch(query.request(now: clock.now, in: context))
    results = found
    return found
  }

  /// The rows of a page of the list.
  func rows(from offset: Int) throws -> HTML {
    try context.perform {
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
  func page(alerts: [Alert]) throws -> HTML {
    try context.perform {
      results = nil
      return ListPage(
        window: id, token: token, list: list, now: clock.now, query: query,
        fragments: fragments(Reply()) + [Fragment(part: .alerts, html: AlertDialog(alerts: alerts).html)],
        rows: try rows(from: 0)
      ).html
    }
  }

  /// The list with its unsaved changes as JSON.
  func export() throws -> Data {
    try context.perform { try ListDocument.encoder.encode(ListDocument(of: context)) }
  }

  private func fragments(_ reply: Reply) -> [Fragment] {
    var reply = reply
    var count = 0
    var panelHTML: HTML = ""
    do {
      count = try toDos().count
      panelHTML = try CategoryPanel(panel: panel(), query: query, in: context).html
    } catch {
      reply.message = Message(explanation(of: error), isError: true)
    }
    return [
      Fragment(
        part: .toolbar,
        html: Toolbar(
          isEdited: isEdited, undo: undoManager.canUndo ? undoManager.undoActionName : nil,
          redo: undoManager.canRedo ? undoManager.redoActionName : nil, name: list.name
        ).html),
      Fragment(part: .list, html: ListPage.status(count: count, query: query)),
      Fragment(part: .categories, html: panelHTML),
      Fragment(part: .addErrors, html: FieldError.list(reply.addErrors)),
      Fragment(part: .categoryErrors, html: FieldError.list(reply.categoryErrors)),
      Fragment(part: .conflicts, html: ConflictDialog(conflicts: conflicts, in: context).html),
      Fragment(part: .messages, html: reply.message?.html ?? ""),
    ]
  }

  /// What a command tells the person, beside the new state.
  private struct Reply {
    var message: Message?
    var addErrors: [FieldError] = []
    var categoryErrors: [FieldError] = []
  }
}

/// A sentence above the list.
struct Message: Sendable {
  var text: String
  var isError: Bool

  init(_ text: String, isError: Bool = false) {
    self.text = text
    self.isError = isError
  }
}
