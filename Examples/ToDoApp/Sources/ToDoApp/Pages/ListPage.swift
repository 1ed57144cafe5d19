import CDRuntime
import Foundation

/// The page of a window.
struct ListPage {
  var window: String
  var token: String
  var list: OpenList
  var now: Date
  var query: ListQuery
  var fragments: [Fragment]
  var rows: HTML

  var html: HTML {
    Page(title: list.name, token: token, script: "app.js", window: window).html(
      body: #"""
        <a class="skip" href="#list">To the list</a>
        <header>
        <h1>\#(list.name)</h1>
        <span id="busy" role="status"></span>
        <div id="toolbar" role="toolbar" aria-label="Commands">\#(part(.toolbar))</div>
        </header>
        \#(migrationNote)
        <p id="away" class="note error" role="alert" hidden></p>
        <div id="messages" aria-live="polite">\#(part(.messages))</div>
        <div class="columns">
        <nav aria-labelledby="categories-title">
        <details id="panel" open>
        <summary><h2 id="categories-title">Categories</h2></summary>
        <div id="categories">\#(part(.categories))</div>
        <form id="add-category">
        <input name="name" aria-label="Name of the new category" placeholder="New category" autocomplete="off">
        <button>Add</button>
        </form>
        <div id="category-errors">\#(part(.categoryErrors))</div>
        </details>
        </nav>
        <main>
        <form id="add" aria-label="New item">
        <input name="title" aria-label="Title of the new item" placeholder="What is to be done?" autocomplete="off">
        <input name="dueDate" type="datetime-local" aria-label="Due date of the new item" value="\#(LocalTime.text(tomorrow))">
        <button class="primary">Add</button>
        <div id="add-errors">\#(part(.addErrors))</div>
        </form>
        <form id="filter" role="search">
        <input name="text" type="search" aria-label="Search titles and notes" placeholder="Search" value="\#(query.text)">
        <select name="due" aria-label="Due">\#(dueOptions)</select>
        <span id="list-status" role="status"></span>
        </form>
        <div id="selection" hidden>
        <span id="selected-count" role="status"></span>
        <button type="button" data-bulk="complete">Complete</button>
        <button type="button" data-bulk="mute">Mute</button>
        <button type="button" data-bulk="delete">Delete</button>
        <label>Category <select data-bulk="categorize"><option value="">Choose…</option></select></label>
        </div>
        <table id="items" aria-label="Items">
        <thead><tr><th class="pick"><input type="checkbox" id="pick-all" aria-label="Select all items that are shown"></th>\#(headers)</tr></thead>
        <tbody class="page" data-offset="0">\#(rows)</tbody>
        </table>
        <div id="list" tabindex="-1">\#(part(.list))</div>
        </main>
        </div>
        <footer>
        <button type="button" id="notify">Allow notifications</button>
        <a href="/w/\#(window)/export.json" download>Export</a>
        <label class="button">Import<input type="file" id="import" accept="application/json,.json"></label>
        <a href="/" target="_blank">New window</a>
        </footer>
        <dialog id="alerts-dialog" aria-labelledby="alerts-title"><div class="dialog-messages"></div><div id="alerts">\#(part(.alerts))</div></dialog>
        <dialog id="conflicts-dialog" aria-labelledby="conflicts-title"><div class="dialog-messages"></div><div id="conflicts">\#(part(.conflicts))</div></dialog>
        """#)
  }

  private func part(_ part: Fragment.Part) -> HTML { fragments.first { $0.part == part }?.html ?? "" }

  private var tomorrow: Date {
    let day = LocalTime.calendar.date(byAdding: .day, value: 1, to: now) ?? now
    return LocalTime.calendar.date(bySettingHour: 9, minute: 0, second: 0, of: day) ?? day
  }

  private var dueOptions: HTML {
    HTML(
      ListQuery.Due.allCases.map {
        #"<option value="\#($0.rawValue)"\#("selected", if: $0 == query.due)>\#($0.label)</option>"#
      })
  }

  private var headers: HTML {
    let titles: [ListQuery.Column: String] = [
      .title: "Title", .dueDate: "Due", .category: "Category", .state: "State",
    ]
    return HTML(
      ListQuery.Column.allCases.map { column in
        let sort = column != query.column ? "none" : query.isAscending ? "ascending" : "descending"
        return
          #"<th scope="col" class="\#(column.rawValue)" aria-sort="\#(sort)"><button type="button" data-sort="\#(column.rawValue)">\#(titles[column] ?? "")</button></th>"#
      })
  }

  private var migrationNote: HTML {
    guard let migration = list.migration else { return "" }
    let backup: HTML =
      migration.backup.map {
        #" The former file was kept: <code>\#($0.path(percentEncoded: false))</code>"#
      } ?? ""
    return
      #"<p class="note" id="migrated" role="status">The list was brought from version \#(migration.source) to version \#(migration.destination).\#(backup)</p>"#
  }

  /// What the script needs to know of the list: how many items there are.
  static func status(count: Int, query: ListQuery) -> HTML {
    let isFiltered =
      !query.text.isEmpty || query.due != .any || query.category != nil || query.isUncategorized
    let empty = isFiltered ? "No items match." : "Nothing is to be done. Add an item above."
    return #"<p data-count="\#(count)" data-page="\#(Window.pageSize)">\#(count == 0 ? empty : "")</p>"#
  }
}

/// The frame of all pages.
struct Page {
  var title: String
  var token: String
  var script: String
  var window = ""

  func html(body: HTML) -> HTML {
    #"""
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="token" content="\#(token)">
    <meta name="window" content="\#(window)">
    <title>\#(title)</title>
    <link rel="icon" href="/static/icon.svg">
    <link rel="stylesheet" href="/static/app.css">
    <script src="/static/\#(script)" type="module"></script>
    </head>
    <body>
    \#(body)
    </body>
    </html>
    """#
  }
}
