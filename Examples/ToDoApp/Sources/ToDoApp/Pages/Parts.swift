import CDRuntime
import Foundation

/// The commands above the list.
struct Toolbar {
  var isEdited: Bool
  /// The name of the change that "Undo" takes back; nil if there is none.
  var undo: String?
  var redo: String?
  var name: String

  var html: HTML {
    #"""
    <span id="edited" data-edited="\#(isEdited ? "true" : "false")" data-name="\#(name)" role="status">\#(isEdited ? "edited" : "")</span>
    <button type="button" id="undo" data-command="undo"\#("disabled", if: undo == nil)>Undo \#(undo ?? "")</button>
    <button type="button" id="redo" data-command="redo"\#("disabled", if: redo == nil)>Redo \#(redo ?? "")</button>
    <button type="button" id="revert" data-command="revert"\#("disabled", if: !isEdited)>Revert</button>
    <button type="button" id="save" class="primary" data-command="save"\#("disabled", if: !isEdited)>Save</button>
    """#
  }
}

/// The panel of categories, which filters the list and is edited in place.
struct CategoryPanel {
  var html: HTML

  init(panel: Panel, query: ListQuery, in context: ManagedObjectContext) throws {
    let isCounted = !\.completed && TypedPredicate<ToDo> { $0.category != nil }
    var counts: [String: Int] = [:]
    for (name, count) in try ToDo.aggregate(by: \.category.name, .count, where: isCounted, in: context) {
      counts[name] = count
    }
    let categories = panel.categories
    let rows = categories.enumerated().map { index, category -> HTML in
      let name = category.shownName
      let id = category.objectID.domID
      return #"""
        <li data-id="\#(category.objectID.description)" data-index="\#(index)">
        <button type="button" class="show" id="\#(id)-show" data-filter="\#(category.objectID.description)" aria-pressed="\#(query.category == category.objectID ? "true" : "false")" aria-label="Show \#(name)">\#(counts[category.name] ?? 0)</button>
        <input id="\#(id)-name" data-category="rename" value="\#(category.name)" placeholder="\#(Category.noName)" aria-label="Name of the category">
        <button type="button" id="\#(id)-up" data-category="up" aria-label="Move \#(name) up"\#("disabled", if: index == 0)>↑</button>
        <button type="button" id="\#(id)-down" data-category="down" aria-label="Move \#(name) down"\#("disabled", if: index == categories.count - 1)>↓</button>
        <button type="button" id="\#(id)-remove" data-category="remove" aria-label="Remove \#(name)">×</button>
        </li>

        """#
    }
    let isAll = query.category == nil && !query.isUncategorized
    html = #"""
      <ul>
      <li><button type="button" class="all" data-filter="" aria-pressed="\#(isAll ? "true" : "false")">All categories</button></li>
      <li><button type="button" class="all" data-filter="none" aria-pressed="\#(query.isUncategorized ? "true" : "false")">Without category</button></li>
      \#(rows)</ul>
      """#
  }
}

extension Category {
  static let noName = "No name"

  /// The name for people. A list of version 2 can have a category with an empty name, which version 3 does not allow.
  var shownName: String { name.isEmpty ? Self.noName : name }
}

/// The dialog of items that are due.
///
/// It appears by itself. So its heading takes the focus, and who is typing presses no button.
struct AlertDialog {
  var alerts: [Alert]

  var html: HTML {
    guard !alerts.isEmpty else { return "" }
    return #"""
      <h2 id="alerts-title" tabindex="-1" autofocus>Due soon</h2>
      \#(alerts.map(row))
      """#
  }

  private func row(_ alert: Alert) -> HTML {
    #"""
    <section data-alert="\#(alert.id.description)">
    <p><strong>\#(alert.title)</strong> is due at <time>\#(LocalTime.readable(alert.dueDate))</time>.</p>
    <button type="button" data-answer="dismiss" class="primary">Dismiss</button>
    <button type="button" data-answer="remind">Remind again in 5 minutes</button>
    <button type="button" data-answer="never">Do not alert again</button>
    </section>
    """#
  }
}

/// The dialog of values that both this window and others have changed.
struct ConflictDialog {
  var html: HTML

  init(conflicts: [SaveConflict], in context: ManagedObjectContext) {
    guard !conflicts.isEmpty else {
      html = ""
      return
    }
    html = #"""
      <form id="resolve">
      <h2 id="conflicts-title" tabindex="-1" autofocus>Changed elsewhere</h2>
      <p>Somebody else has changed the same items since you began. Choose which values to keep.</p>
      \#(conflicts.enumerated().map { Self.object($0.element, number: $0.offset, context) })
      <menu><button type="button" data-close>Decide later</button><button class="primary">Save</button></menu>
      </form>
      """#
  }

  private static func object(_ conflict: SaveConflict, number: Int, _ context: ManagedObjectContext) -> HTML {
    let values = conflict.contestedValues
    let title = name(of: conflict.objectID, context)
    let isDeletedHere = context.registeredObject(for: conflict.objectID)?.isDeleted ?? true
    if conflict.reason != .changed || isDeletedHere {
      return choice(
        conflict.objectID, key: nil, legend: title, number: number,
        mine: isDeletedHere ? "Delete it" : "Keep it, with your changes",
        theirs: isDeletedHere ? "Keep it, as others have changed it" : "Delete it, as others have done")
    }
    return HTML(
      values.enumerated().map { index, value in
        choice(
          conflict.objectID, key: value.key, legend: "\(title): \(words(value.key))",
          number: number * 100 + index,
          mine: "Yours: " + text(value.object, context),
          theirs: "Saved: " + (value.store.map { text($0, context) } ?? "deleted"))
      })
  }

  private static func choice(
    _ id: ManagedObjectID, key: String?, legend: String, number: Int, mine: String, theirs: String
  ) -> HTML {
    #"""
    <fieldset data-id="\#(id.description)" data-key="\#(key ?? "")">
    <legend>\#(legend)</legend>
    <label><input type="radio" name="choice-\#(number)" value="mine" checked> \#(mine)</label>
    <label><input type="radio" name="choice-\#(number)" value="theirs"> \#(theirs)</label>
    </fieldset>
    """#
  }

  private static func name(of id: ManagedObjectID, _ context: ManagedObjectContext) -> String {
    switch context.registeredObject(for: id) {
    case let toDo as ToDo: toDo.title
    case let category as Category: category.shownName
    default: "A deleted item"
    }
  }

  private static func words(_ key: String) -> String {
    ErrorTexts.lookUp?("property.ToDo.\(key)") ?? key
  }

  private static func text(_ value: FetchedValue, _ context: ManagedObjectContext) -> String {
    switch value {
    case .object(nil): "no category"
    case .object(let id?): (try? Category.object(with: id, in: context).shownName) ?? "a deleted category"
    case .attribute(.string(let text)): text
    case .attribute(.date(let date)): LocalTime.readable(date)
    case .attribute(.bool(let isTrue)): isTrue ? "yes" : "no"
    case .attribute: "nothing"
    }
  }
}

/// The pages while the list is not open.
enum StatusPage {
  static func opening(_ name: String, token: String) -> HTML {
    Page(title: name, token: token, script: "status.js").html(
      body: #"""
        <main class="status" id="opening">
        <h1>\#(name)</h1>
        <p id="state" role="status">The list is being opened.</p>
        <progress id="progress" max="100" aria-label="Progress"></progress>
        </main>
        """#)
  }

  /// Explains why the list cannot be opened or read, in the words of the error.
  ///
  /// - Parameter window: The identifier of the window, whose changes are kept while its page waits; empty if there is none.
  static func failed(
    _ error: any Error, _ address: StoreAddress, edited isEdited: Bool?, window: String, token: String
  ) -> HTML {
    let reason = (error as? any LocalizedError)?.failureReason
    let suggestion = (error as? any LocalizedError)?.recoverySuggestion
    let changes =
      switch isEdited {
      case nil: "Nothing in it was changed."
      case true?: "Your unsaved changes are kept until the program ends."
      case false?: ""
      }
    return Page(title: address.name, token: token, script: "status.js", window: window).html(
      body: #"""
        <main class="status" id="failed">
        <h1>\#(error.localizedDescription)</h1>
        <p>\#(reason ?? "")</p>
        <p><strong>\#(suggestion ?? "")</strong></p>
        <p>The list: <code>\#(address.path)</code>. \#(changes)</p>
        <button type="button" id="retry" class="primary">Try again</button>
        </main>
        """#)
  }
}
