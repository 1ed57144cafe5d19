import ArgumentParser
import CDConsole
import CDRuntime

/// `todo category`
struct CategoryCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "category", abstract: "Work with categories.",
    subcommands: [AddCategory.self, ListCategories.self])

  /// `todo category add`
  struct AddCategory: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add", abstract: "Add a category.", discussion: "todo category add Work")

    @Argument(help: "The name of the category.")
    var name: String

    @OptionGroup var store: StoreOptions

    mutating func validate() throws {
      try Name.check(name, blank: "A category needs a name.")
      name = Name.trimmed(name)
    }

    @MainActor
    func run() async throws {
      try store.change { context in
        if try Category.object(name: name, in: context) != nil {
          throw Failure("there is a category '\(name)' already")
        }
        return Category(name: name, in: context).name
      }
    }
  }

  /// `todo category list`
  struct ListCategories: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the categories.", discussion: "todo category list")

    @OptionGroup var store: StoreOptions

    @MainActor
    func run() async throws {
      let table = try store.withContext { context in
        let categories = try Category.fetch(sortedBy: \.name, in: context)
        let rows = categories.map { category in
          [
            category.name, String(category.toDos.filter { !$0.completed }.count),
            String(category.toDos.count),
          ]
        }
        return Table("Category", "Open", "All", rows: rows)
      }
      try Console.write(line: table.text)
    }
  }
}
