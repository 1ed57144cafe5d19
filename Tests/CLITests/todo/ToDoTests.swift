import Foundation
import Testing

/// The example program, run as a user would, on a store of its own.
///
/// The store is a file. `.ci/server-commands` runs the same tests with a program that takes URLs: then it is on a server.
@Suite struct ToDoTests {
  private let folder: TemporaryFolder
  private let list: String

  init() throws {
    folder = try TemporaryFolder()
    list = Self.newStore()
  }

  private static let isOnServer =
    BuiltTool.todo.other != nil && BuiltTool.cdstore.other != nil && CommandServer.url != nil

  /// The name of a store that does not exist yet.
  private static func newStore() -> String {
    guard isOnServer, let url = CommandServer.url else { return "\(UUID().uuidString).store" }
    return CommandServer.schema("todo_" + UUID().uuidString, url)
  }

  private func todo(_ arguments: String...) throws -> BuiltTool.Result {
    try BuiltTool.todo.run(arguments + ["--store", list], in: folder.url)
  }

  private func expect(
    _ arguments: String..., status: Int32 = 0, output: String = "", errors: String = "",
    location: SourceLocation = #_sourceLocation
  ) throws {
    let result = try BuiltTool.todo.run(arguments + ["--store", list], in: folder.url)
    #expect(
      result == BuiltTool.Result(status: status, output: output, errors: errors), sourceLocation: location)
  }

  @Test func aListIsKept() throws {
    try expect("category", "add", "Home", output: "Home\n")
    try expect(
      "add", "Water the plants", "--due", "2030-06-01T10:00", "--category", "Home",
      output: "1  Water the plants, due 2030-06-01 10:00\n")
    try expect("add", "Sleep", "--due", "2030-05-01", output: "2  Sleep, due 2030-05-01 00:00\n")
    try expect("mute", "Sleep", output: "2  Sleep, muted\n")
    try expect("done", "1", output: "1  Water the plants, done\n")
    try expect(
      "list", "--all",
      output: """
        No  Due               Name              Category  State
        --  ----------------  ----------------  --------  -----
        2   2030-05-01 00:00  Sleep                       muted
        1   2030-06-01 10:00  Water the plants  Home      done

        """)
    try expect(
      "list",
      output: """
        No  Due               Name   Category  State
        --  ----------------  -----  --------  -----
        2   2030-05-01 00:00  Sleep            muted

        """)
    try expect("list", "--category", "Home", output: "(none)\n")
  }

  /// Expects an alert for the to-do "Now", which is the first of the list, and for no other one.
  private func expectNowIsDue() throws {
    try expect(
      "due", "--within", "5m",
      output: """
        No  Due       Name
        --  --------  ----
        1   in 4 min  Now

        """)
  }

  @Test func whatIsDueAlertsOnceAndNotWhenMutedOrDone() throws {
    for name in ["Now", "Muted", "Done"] { #expect(try todo("add", name, "--due", "4m30s").status == 0) }
    #expect(try todo("add", "Later", "--due", "2h").status == 0)
    #expect(try todo("mute", "Muted").status == 0)
    #expect(try todo("done", "Done").status == 0)
    try expectNowIsDue()
    try expect("due", "--within", "5m", output: "(none)\n")
  }

  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
  func anAlertThatNobodySawIsPrintedAgain() throws {
    #expect(try todo("add", "Now", "--due", "4m30s").status == 0)
    let process = Process()
    process.executableURL = BuiltTool.todo.url
    process.arguments = ["due", "--within", "5m", "--store", list]
    process.currentDirectoryURL = folder.url
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: URL(filePath: "/dev/full"))
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 1)
    try expectNowIsDue()
  }

  /// In São Paulo, clocks went from 0:00 to 1:00 on this day.
  @Test func aDayWithoutAMidnightBeginsLater() throws {
    let result = try BuiltTool.todo.run(
      ["add", "Sleep", "--due", "2018-11-04", "--store", list], in: folder.url,
      variables: ["TZ": "America/Sao_Paulo"])
    #expect(
      result == BuiltTool.Result(status: 0, output: "1  Sleep, due 2018-11-04 01:00\n", errors: ""))
  }

  /// A list that an older release of the program made: its store is of version 1, which knows no alerts.
  @Test func aListOfAnOlderReleaseIsTakenAlong() throws {
    var package = URL(filePath: #filePath)
    for _ in 0..<4 { package.deleteLastPathComponent() }
    let schema = package.appending(path: "Schemas/ToDo.cdmodel").path
    let create = try BuiltTool.cdstore.run(
      "create", list, "--model", schema, "--version", "1", in: folder.url)
    #expect(create.status == 0, "\(create.errors)")
    let soon = Date.now.addingTimeInterval(150).timeIntervalSince1970
    try folder.write(
      """
      {
        "Category": [{ "@id": "home", "name": "Home" }],
        "ToDo": [
          { "name": "Water the plants", "dueDate": { "$date": \(soon) }, "category": "home" },
          { "name": "Sleep", "dueDate": { "$date": \(soon + 30) } },
          { "name": "Rise", "dueDate": { "$date": \(soon + 60) }, "completed": true }
        ]
      }
      """, to: "list.json")
    let load = try BuiltTool.cdstore.run("load", list, "list.json", in: folder.url)
    #expect(load.status == 0, "\(load.errors)")

    try expect("mute", "Sleep", output: "2  Sleep, muted\n")
    let all = try todo("list", "--all").output
    #expect(
      all.contains("Water the plants  Home") && all.contains("muted") && all.contains("done"), "\(all)")
    try expect(
      "due", "--within", "5m",
      output: """
        No  Due       Name
        --  --------  ----------------
        1   in 2 min  Water the plants

        """)
    try expect("due", "--within", "5m", output: "(none)\n")
    let info = try BuiltTool.cdstore.run("verify", list, in: folder.url)
    #expect(info.status == 0, "\(info.output)\(info.errors)")
  }

  @Test func mistakesAreSaidAndChangeNothing() throws {
    try expect("category", "add", "Home", output: "Home\n")
    try expect(
      "category", "add", "Home", status: 1, errors: "Error: there is a category 'Home' already\n")
    try expect(
      "add", "X", "--category", "Work", status: 1,
      errors: "Error: there is no category 'Work'; 'todo category add Work' makes it\n")
    try expect(
      "done", "Nothing", status: 1,
      errors: "Error: there is no to-do 'Nothing'; 'todo list --all' shows all\n")
    for _ in 1...2 { #expect(try todo("add", "Twin", "--due", "1d").status == 0) }
    try expect(
      "done", "Twin", status: 1,
      errors: "Error: 2 to-dos are named 'Twin'; say which by its number: 2, 3\n")
    #expect(try todo("add", "X", "--due", "yesterdayish").status == 64)
    for blank in ["", " ", "\u{3000}", "\u{200B}"] {
      #expect(try todo("add", blank).errors.hasPrefix("Error: What is to be done needs a name.\n"))
      #expect(try todo("category", "add", blank).errors.hasPrefix("Error: A category needs a name.\n"))
    }
    try expect("category", "add", " Work ", output: "Work\n")
    let names = try todo("list", "--all").output.split(separator: "\n").dropFirst(2)
    #expect(names.count == 2 && names.allSatisfy { $0.contains("Twin") })
  }

  @Test(.disabled(if: isOnServer, "it is about files")) func whatIsNoStoreIsLeftAlone() throws {
    try folder.write("some text, and no store\n", to: list)
    let path = folder.url.appending(path: list).path
    try expect(
      "list", status: 1,
      errors:
        "Error: \(path) is not a database; it was not changed. Choose another file for the store\n")
    #expect(try folder.text(of: list) == "some text, and no store\n")
  }

  @Test func aFolderThatCannotBeMadeIsNamed() throws {
    try folder.write("", to: "file")
    let path = folder.url.appending(path: "file").path
    let result = try BuiltTool.todo.run("list", "--store", "file/list.sqlite", in: folder.url)
    #expect(result.status == 1 && result.output == "")
    #expect(result.errors.hasPrefix("Error: \(path): cannot be made: "), "\(result)")
    #expect(result.errors.hasSuffix("; name a file in another folder with '--store'\n"), "\(result)")
    let demo = try BuiltTool.todo.run(["demo"], in: folder.url, variables: ["TMPDIR": path])
    #expect(demo.status == 1 && demo.output == "")
    #expect(demo.errors.hasPrefix("Error: \(path)/todo-"), "\(demo)")
  }

  @Test(.disabled(if: isOnServer, "it is about files")) func aListOfANewerReleaseIsNamedOnce() throws {
    var package = URL(filePath: #filePath)
    for _ in 0..<4 { package.deleteLastPathComponent() }
    let model = folder.url.appending(path: "ToDo.cdmodel")
    try FileManager.default.copyItem(at: package.appending(path: "Schemas/ToDo.cdmodel"), to: model)
    try folder.write(
      try folder.text(of: "ToDo.cdmodel/2.yaml") + "  Tag:\n    attributes:\n      name: String\n",
      to: "ToDo.cdmodel/3.yaml")
    let create = try BuiltTool.cdstore.run("create", list, "--model", model.path, in: folder.url)
    #expect(create.status == 0, "\(create)")
    let result = try todo("list")
    #expect(result.status == 1 && result.output == "")
    let path = folder.url.appending(path: list).path
    #expect(result.errors.components(separatedBy: path).count == 2, "\(result)")
  }

  @Test func severalAtOnceLoseNothing() async throws {
    #expect(try todo("list").status == 0)
    let (url, list) = (folder.url, list)
    try await withThrowingTaskGroup(of: Int32.self) { group in
      for writer in 0..<4 {
        group.addTask {
          var worst: Int32 = 0
          for number in 0..<10 {
            let result = try BuiltTool.todo.run(
              "add", "w\(writer)-\(number)", "--due", "1d", "--store", list, in: url)
            worst = max(worst, result.status)
          }
          return worst
        }
      }
      for try await status in group { #expect(status == 0) }
    }
    let lines = try todo("list").output.split(separator: "\n").dropFirst(2)
    #expect(lines.count == 40)
    #expect(Set(lines.map { $0.split(separator: " ")[0] }).count == 40)
  }

  @Test func severalAtOnceChangeTheSame() async throws {
    #expect(try todo("add", "Sleep", "--due", "1d").status == 0)
    let (url, list) = (folder.url, list)
    let results = try await withThrowingTaskGroup(of: [BuiltTool.Result].self) { group in
      for writer in 0..<4 {
        group.addTask {
          try (0..<8).flatMap { number in
            try [
              BuiltTool.todo.run("mute", "Sleep", "--store", list, in: url),
              BuiltTool.todo.run("category", "add", "c\(number)", "--store", list, in: url),
              BuiltTool.todo.run(
                "add", "w\(writer)", "--category", "c\(number)", "--store", list, in: url),
            ]
          }
        }
      }
      return try await group.reduce(into: [BuiltTool.Result]()) { $0 += $1 }
    }
    // Only one of them can add a category. The others say so in the words for a person.
    let failures = results.filter { $0.status != 0 }
    #expect(failures.count == 24)
    #expect(failures.allSatisfy { $0.errors.hasPrefix("Error: there is a category 'c") }, "\(failures)")
    let lines = try todo("list").output.split(separator: "\n").dropFirst(2)
    #expect(lines.count == 33)
  }

  @Test func aNumberMeansTheNumberEvenWhereItIsAName() throws {
    try expect("add", "2", "--due", "2030-06-01", output: "1  2, due 2030-06-01 00:00\n")
    try expect("add", "Sleep", "--due", "2030-05-01", output: "2  Sleep, due 2030-05-01 00:00\n")
    try expect("done", "2", output: "2  Sleep, done\n")
    try expect("done", "1", output: "1  2, done\n")
  }

  @Test(arguments: ["Two\nlines", "A\u{1B}[31mcolour", "A\ttab", "Two\u{2028}lines"])
  func aNameIsOneLine(name: String) throws {
    let message = "Error: A name is one line without control characters.\n"
    let added = try todo("add", name)
    #expect(added.status == 64 && added.output == "" && added.errors.hasPrefix(message))
    let category = try todo("category", "add", name)
    #expect(category.status == 64 && category.output == "" && category.errors.hasPrefix(message))
    try expect("list", "--all", output: "(none)\n")
  }

  @Test func columnsAreAlignedWithWideCharacters() throws {
    for name in ["日本語", "Tea 🍵", "🇯🇵", "cafe\u{301}", "❤\u{FE0F}"] {
      #expect(try todo("add", name, "--due", "2030-06-01").status == 0)
    }
    try expect("mute", "日本語", output: "1  日本語, muted\n")
    try expect(
      "list",
      output: """
        No  Due               Name    Category  State
        --  ----------------  ------  --------  -----
        1   2030-06-01 00:00  日本語            muted
        2   2030-06-01 00:00  Tea 🍵
        3   2030-06-01 00:00  🇯🇵
        4   2030-06-01 00:00  cafe\u{301}
        5   2030-06-01 00:00  ❤\u{FE0F}

        """)
  }

  @Test func theStoreIsMadeByWhoeverComesFirst() async throws {
    let url = folder.url
    for _ in 0..<5 {
      let store = Self.newStore()
      let results = try await withThrowingTaskGroup(of: BuiltTool.Result.self) { group in
        for writer in 0..<3 {
          group.addTask {
            try BuiltTool.todo.run(
              "add", "w\(writer)", "--due", "2030-06-01", "--store", store, in: url)
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(results.allSatisfy { $0.status == 0 && $0.errors == "" }, "\(results)")
      let output = try BuiltTool.todo.run("list", "--store", store, in: folder.url).output
      let lines = output.split(separator: "\n").dropFirst(2).map { $0.split(separator: " ") }
      #expect(Set(lines.compactMap(\.last)) == ["w0", "w1", "w2"])
      #expect(Set(lines.compactMap(\.first)).count == 3)
    }
  }

  @Test func theDemoShowsEachFetch() throws {
    let expected = """
      ToDo.objects(in: context)

        Name               Due       Category  State
        -----------------  --------  --------  -----
        Call Grace         in 3 min  Work
        Review the schema  in 2 h    Work
        Send the report    1 d ago   Work      done
        Water the plants   in 4 min  Home
        Fetch the tea      in 4 min  Home
        Put out the bins   in 5 min  Home      muted
        Learn to juggle    in 30 d

      ToDo.objects(matching: \\.completed, true, in: context)

        Name             Due      Category  State
        ---------------  -------  --------  -----
        Send the report  1 d ago  Work      done

      ToDo.object(matching: \\.name, "Call Grace", in: context)

        Name        Due       Category  State
        ----------  --------  --------  -----
        Call Grace  in 3 min  Work

      ToDo.object(matching: \\.completed, false, in: context)

        error: several objects of 'ToDo' match, but only one was expected; fetch a list, or make the key unique

      ToDo.objects(matching: [.completed: false, .doNotAlert: true], using: .and, in: context)

        Name              Due       Category  State
        ----------------  --------  --------  -----
        Put out the bins  in 5 min  Home      muted

      ToDo.objects(matching: [.completed: true, .doNotAlert: true], using: .or, in: context)

        Name              Due       Category  State
        ----------------  --------  --------  -----
        Send the report   1 d ago   Work      done
        Put out the bins  in 5 min  Home      muted

      Category.object(name: "Home", in: context)?.toDos

        Name              Due       Category  State
        ----------------  --------  --------  -----
        Fetch the tea     in 4 min  Home
        Water the plants  in 4 min  Home
        Put out the bins  in 5 min  Home      muted

      ToDo.fetch(where: \\.category.name == "Work" && \\.completed == false, sortedBy: \\.dueDate, limit: 20, in: context)

        Name               Due       Category  State
        -----------------  --------  --------  -----
        Call Grace         in 3 min  Work
        Review the schema  in 2 h    Work

      ToDo.dueForAlert(now: now, later: now + 300, before: now - 300, in: context)

        Name              Due       Category  State
        ----------------  --------  --------  -----
        Call Grace        in 3 min  Work
        Water the plants  in 4 min  Home

      """
    #expect(
      try BuiltTool.todo.run("demo", in: folder.url)
        == BuiltTool.Result(status: 0, output: expected + "\n", errors: ""))
    try expect("demo", output: expected + "\n")
    let again = try todo("demo")
    #expect(again.status == 1 && again.output == "" && again.errors.contains("it was not changed"))
  }
}
