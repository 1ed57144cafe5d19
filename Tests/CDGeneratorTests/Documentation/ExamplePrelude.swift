/// What the examples of the documentation may use without declaring it, besides the generated code of the
/// models Library and ToDo.
enum ExamplePrelude {
  static let source = """
    import CDRuntime
    import Foundation

    @MainActor struct Examples {
      let url: URL
      let container: PersistentContainer
      let coordinator: PersistentStoreCoordinator
      let model: ManagedObjectModel
      let version: ModelVersion
      let context: ManagedObjectContext
      let form: ManagedObjectContext
      let isConfirmed: Bool
      let author: Author
      let publisher: Publisher
      let book: Book
      let work: Category
      let call: ToDo
      let now: Date
    }
    """
}
