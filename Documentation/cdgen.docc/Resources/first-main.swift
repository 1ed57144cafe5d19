import CDRuntime
import Foundation

let container = try PersistentContainer(for: PlantsModel.self, at: URL(filePath: "Plants.sqlite"))
let context = container.viewContext
let arguments = Array(CommandLine.arguments.dropFirst())

switch arguments.first {
case "add" where arguments.count == 4:
  let plant = Plant(name: arguments[1], in: context)
  plant.room = try Room.object(name: arguments[2], in: context) ?? Room(name: arguments[2], in: context)
  plant.height = arguments[3]
  try context.save()
case "list":
  for plant in try Plant.fetch(sortedBy: \.name, in: context) {
    print("\(plant.name) (\(plant.room?.name ?? "nowhere")), height \(plant.height ?? "unknown")")
  }
case "water" where arguments.count == 3:
  guard let plant = try Plant.object(matching: \.name, arguments[1], in: context) else {
    print("There is no plant \(arguments[1]).")
    break
  }
  plant.wateredEvery = Int32(arguments[2]) ?? 7
  do { try context.save() } catch { print(error) }
case "thirsty" where arguments.count == 2:
  for plant in try Plant.fetch(
    where: \.room.name == arguments[1] && \.wateredEvery < 4, sortedBy: \.wateredEvery, in: context)
  {
    print("\(plant.name), every \(plant.wateredEvery) days")
  }
default:
  print("Plants add NAME ROOM HEIGHT, Plants list, Plants water NAME DAYS, or Plants thirsty ROOM")
}
